import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { HttpDetail } from '../../../src/checks/http/detail.ts';
import { type PcapContent, readPcap } from './captured-packets.ts';
import { type Rights, rightsPrefix } from './icmp-process.ts';

const program = new URL('./diagnosis-process-main.ts', import.meta.url).pathname;

/** Checks to run in one process, because diagnoses are rationed per thread. Defaults: type API, sequentially. */
export interface DiagnosedOrder {
  readonly checkType?: 'API' | 'TCP' | 'DNS' | 'ICMP' | 'TRACEROUTE' | 'UDP';
  /** Fields of every check except its request. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** Each is the `request` of a check. */
  readonly requests: readonly Readonly<Record<string, unknown>>[];
  readonly isConcurrent?: boolean;
  /** 5000 when absent. */
  readonly timeoutMs?: number;
  readonly proxyUrl?: string;
  /** False if artifacts are not kept. */
  readonly hasSink?: boolean;
}

/** Fields that the details of all types have. */
type CommonDetail = Pick<HttpDetail, 'jobLog' | 'jobAssets' | 'pcapDataUrl'>;

export interface DiagnosedRun
  extends Pick<Outcome<CommonDetail>, 'failure' | 'responseTimeMs' | 'detail' | 'measurement'> {
  /** From start to outcome, diagnosis included. */
  readonly elapsedMs: number;
  /** Folder of its artifacts. */
  readonly folder: string;
}

/** Hosts in namespaces, including the agent. */
interface Lab {
  commandOn(host: 'agent', command: readonly string[]): string[];
}

/** Runs checks in a separate process, on the lab's agent if there is a lab. */
export async function diagnosedRuns(
  order: DiagnosedOrder,
  where: { readonly folder: string; readonly rights?: Rights; readonly lab?: Lab },
): Promise<DiagnosedRun[]> {
  const { folder, rights = 'root', lab } = where;
  const words = [...rightsPrefix(rights), process.execPath, program, JSON.stringify({ ...order, folder })];
  const [command = '', ...args] = lab ? lab.commandOn('agent', words) : words;
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout) as DiagnosedRun[];
}

/** Log lines of a run about its diagnosis. */
export function remarksOf({ detail }: DiagnosedRun): string[] {
  const entries = detail.jobLog?.request ?? [];
  return entries.map(({ msg }) => msg).filter((msg) => msg.startsWith('Diagnosis: '));
}

export function captureOf({ folder, detail }: DiagnosedRun): PcapContent {
  return readPcap(readFileSync(join(folder, detail.pcapDataUrl ?? '')));
}

export function routeOf({ folder, detail }: DiagnosedRun): string {
  return readFileSync(join(folder, detail.jobAssets?.[0] ?? ''), 'utf8');
}

import { readFileSync } from 'node:fs';
import { loopbackAddresses } from './fping.ts';

/** Seconds between two checks of a target. */
export const intervalSeconds = 10;

/** One target, as a check of Picket and as a probe of blackbox_exporter. */
export interface CostTarget {
  readonly route: 'url' | 'dns' | 'icmp';
  readonly request: Readonly<Record<string, unknown>>;
  readonly module: 'http' | 'dns' | 'icmp';
  /** The parameter `target` of a probe. */
  readonly target: string;
}

/** Counts of a stage between its `begin` and `end`. */
export interface Window {
  readonly checks: number;
  readonly failed: number;
  /** CPU time in milliseconds by process. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Growth of its files. */
  readonly storedBytes: number;
  /** The same, once it is in its final form, where a stage can say so now. */
  readonly blockBytes?: number;
}

/** Something that monitors the targets. */
export interface CostStage extends AsyncDisposable {
  begin(): Promise<void>;
  end(): Promise<Window>;
  /** Proportional set size of all its processes now. */
  memoryMib(): Promise<number>;
  /** The p95 of the times of one target in the window, in milliseconds. */
  p95Ms(): Promise<number>;
}

export interface TargetPorts {
  readonly http: number;
  readonly https: number;
  readonly dns: number;
}

export function costTargets(kind: CostTarget['route'], count: number, ports: TargetPorts): CostTarget[] {
  const host = '127.0.0.1';
  const one = {
    url: (index: number): CostTarget => {
      const isTls = index % 2 === 1;
      const url = `${isTls ? 'https' : 'http'}://${host}:${isTls ? ports.https : ports.http}/${index}`;
      return { route: 'url', request: { url, skipSSL: true }, module: 'http', target: url };
    },
    dns: (): CostTarget => ({
      route: 'dns',
      request: { query: 'www.bench.test', recordType: 'A', nameServer: host, port: ports.dns },
      module: 'dns',
      target: `${host}:${ports.dns}`,
    }),
    icmp: (index: number): CostTarget => {
      const hostname = addresses[index] ?? host;
      return { route: 'icmp', request: { hostname, pingCount: 1 }, module: 'icmp', target: hostname };
    },
  }[kind];
  const addresses = kind === 'icmp' ? loopbackAddresses(count) : [];
  return Array.from({ length: count }, (_, index) => one(index));
}

/** Proportional set size of processes, in MiB. */
export function proportionalMib(pids: readonly number[]): number {
  const kib = pids.map((pid) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      return 0; // it has just ended
    }
  });
  return kib.reduce((sum, one) => sum + one, 0) / 1024;
}

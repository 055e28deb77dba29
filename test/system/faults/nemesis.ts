import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCodeOf } from '../../../src/lib/errors.ts';
import type { PostgresServer } from '../../helpers/service/postgres.ts';
import type { PlannedFault } from './fault-plan.ts';
import { type HistoryBook, nowMs } from './history.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import type { Wire } from './wire.ts';

/** A process and the means to disturb it. */
export interface Victim {
  readonly process: SupervisedProcess;
  readonly wire?: Wire;
  /** A small disk for this process only. */
  readonly disk?: string;
  /** The file with the offset of its clock. */
  readonly clockFile?: string;
}

export interface NemesisOptions {
  readonly plan: readonly PlannedFault[];
  readonly victims: ReadonlyMap<string, Victim>;
  readonly database?: PostgresServer | undefined;
  readonly book: HistoryBook;
  readonly progress: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Longest wait for a process to exit on SIGTERM before it is killed: during faults, a clean exit may depend on other
 * processes.
 */
const termPatienceMs = 8_000;

const clockErrorsMs = [3_600_000, -3_600_000, -600_000, 45_000];

/** Executes a plan. Resolves when the last fault is over and everything repairable is repaired. */
export async function unleash(options: NemesisOptions): Promise<void> {
  const startedAtMs = nowMs();
  const before = new Map<string, Promise<unknown>>();
  const all = options.plan.map((fault) => {
    const work = inTurn(fault, before.get(fault.subject));
    before.set(fault.subject, work);
    return work;
  });
  await Promise.all(all);

  /** Delays the next fault of a process that took longer to recover than planned. */
  async function inTurn(fault: PlannedFault, previous: Promise<unknown> | undefined): Promise<void> {
    await previous;
    await delay(Math.max(0, startedAtMs + fault.fromMs - nowMs()), undefined, {
      signal: options.signal,
    });
    options.progress(`${fault.kind} ${fault.subject} for ${(fault.durationMs / 1000).toFixed(1)} s`);
    const fromMs = nowMs();
    await cause(fault, options);
    options.book.write('nemesis', {
      kind: 'fault',
      fault: fault.kind,
      subject: fault.subject,
      fromMs,
      toMs: nowMs(),
    });
  }
}

async function cause(fault: PlannedFault, options: NemesisOptions): Promise<void> {
  const { durationMs, strength } = fault;
  if (fault.kind === 'database-kill') {
    await options.database?.kill();
    await delay(durationMs);
    await options.database?.start();
    return;
  }
  const victim = options.victims.get(fault.subject);
  if (!victim) throw new Error(`nobody is called ${fault.subject}`);
  const { process, wire, disk, clockFile } = victim;
  switch (fault.kind) {
    case 'agent-kill':
    case 'service-kill':
      await process.end('SIGKILL');
      await delay(durationMs);
      process.start();
      return;
    case 'agent-restart':
    case 'service-restart': {
      const patience = new AbortController();
      const ended = process.end('SIGTERM').then(() => patience.abort());
      await delay(termPatienceMs, undefined, { signal: patience.signal }).catch(() => undefined);
      if (!patience.signal.aborted) await process.end('SIGKILL');
      await ended;
      await delay(durationMs);
      process.start();
      return;
    }
    case 'agent-stop':
    case 'service-stop':
      process.stop();
      await delay(durationMs);
      process.resume();
      return;
    case 'agent-descriptors':
    case 'service-descriptors':
      process.limitDescriptors(Math.floor(strength * 4));
      await delay(durationMs);
      process.limitDescriptors(null);
      return;
    case 'agent-disk-full':
    case 'service-disk-full': {
      if (disk === undefined) return;
      const filler = join(disk, 'filler');
      fill(filler);
      await delay(durationMs);
      rmSync(filler, { force: true });
      return;
    }
    case 'agent-clock':
      if (clockFile === undefined) return;
      writeFileSync(clockFile, String(clockErrorsMs[Math.floor(strength * clockErrorsMs.length)]));
      await delay(durationMs);
      writeFileSync(clockFile, '0');
      return;
    case 'wire-reset':
      wire?.reset();
      return;
    case 'wire-replies-broken':
      wire?.breakReplies();
      break;
    case 'wire-cut':
      wire?.cut('requests', 'replies');
      break;
    case 'wire-requests-lost':
      wire?.cut('requests');
      break;
    case 'wire-replies-lost':
      wire?.cut('replies');
      break;
  }
  await delay(durationMs);
  wire?.heal();
}

/** Fills a disk to its last byte. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (let sizeBytes = 1024 * 1024; sizeBytes >= 1; sizeBytes = Math.floor(sizeBytes / 2)) {
      const block = Buffer.alloc(sizeBytes);
      try {
        for (;;) if (writeSync(descriptor, block) < sizeBytes) break;
      } catch (thrown) {
        if (errorCodeOf(thrown) !== 'ENOSPC') throw thrown;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

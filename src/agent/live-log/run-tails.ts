import type { RunLog } from '@picket/checks/contract/run-log.ts';
import type { LinesOfRun } from '../run/contracts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { RunTail } from './run-tail.ts';

/** The logs of the runs of a thread. */
export class RunTails {
  readonly #tails = new Map<string, { readonly leaseNumber: number; readonly tail: RunTail }>();
  #isReading = false;

  /** Makes the log of a run readable; returns a function that ends this. */
  open(
    { runId, leaseNumber }: { readonly runId: string; readonly leaseNumber: number },
    log: RunLog,
    scrubberFor: (found: readonly string[]) => Scrubber,
  ): () => void {
    const tail = new RunTail(log, scrubberFor);
    const entry = { leaseNumber, tail };
    this.#tails.set(runId, entry);
    return () => {
      if (this.#tails.get(runId) === entry) this.#tails.delete(runId);
    };
  }

  /** Permits reading the log of a run; see `RunContext.allowLiveLog`. */
  allow({ runId }: { readonly runId: string }, secretsSoFar: Parameters<RunTail['allow']>[0]): void {
    this.#tails.get(runId)?.tail.allow(secretsSoFar);
  }

  /** The next lines of these runs; none while an earlier call is in progress. */
  async read(runIds: readonly string[]): Promise<LinesOfRun[]> {
    if (this.#isReading) return [];
    this.#isReading = true;
    try {
      const read: LinesOfRun[] = [];
      for (const runId of runIds) {
        const entry = this.#tails.get(runId);
        const next = await entry?.tail.next();
        // A run that ended meanwhile has its log in its result.
        if (entry && next && this.#tails.get(runId) === entry) {
          read.push({ runId, leaseNumber: entry.leaseNumber, ...next });
        }
      }
      return read;
    } finally {
      this.#isReading = false;
    }
  }
}

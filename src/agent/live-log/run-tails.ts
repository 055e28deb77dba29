import type { RunLog } from '@picket/checks/contract/run-log.ts';
import type { LeaseRef } from '@picket/protocol/agent/agent.ts';
import type { LinesOfRun, TailPlace } from '../run/contracts.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { RunTail } from './run-tail.ts';

/** Text of one request to the service, in characters; the lines of other runs wait for the next. */
const maxTextLength = 256 * 1024;

/** The logs of the runs of a thread. */
export class RunTails {
  readonly #tails = new Map<string, { readonly leaseNumber: number; readonly tail: RunTail }>();
  #isReading = false;

  /** Makes the log of a run readable; returns a function that ends this. */
  open(
    { runId, leaseNumber }: LeaseRef,
    log: RunLog,
    scrubberFor: (found: readonly string[]) => Scrubber,
  ): () => void {
    const entry = { leaseNumber, tail: new RunTail(log, scrubberFor) };
    this.#tails.set(runId, entry);
    return () => {
      if (this.#tails.get(runId) === entry) this.#tails.delete(runId);
    };
  }

  /** Permits reading the log of a run; see `RunContext.allowLiveLog`. */
  allow({ runId }: Pick<LeaseRef, 'runId'>, secretsSoFar: Parameters<RunTail['allow']>[0]): void {
    this.#tails.get(runId)?.tail.allow(secretsSoFar);
  }

  /** The next lines of these runs; none while an earlier call is in progress. */
  async read(places: readonly TailPlace[]): Promise<LinesOfRun[]> {
    if (this.#isReading) return [];
    this.#isReading = true;
    try {
      const read: LinesOfRun[] = [];
      let length = 0;
      for (const { runId, nextLine, isFull, ...known } of places) {
        const entry = this.#tails.get(runId);
        if (!entry || length > maxTextLength) continue;
        const { leaseNumber, tail } = entry;
        const isKnown = leaseNumber === known.leaseNumber;
        if (isKnown && isFull) continue;
        const firstLine = isKnown ? nextLine : 0;
        const next = await tail.next(firstLine);
        // A run that ended meanwhile has its log in its result.
        if (!next || this.#tails.get(runId) !== entry) continue;
        read.push({ runId, leaseNumber, firstLine, ...next });
        length += next.lines.reduce((sum, { msg }) => sum + msg.length, 0);
      }
      return read;
    } finally {
      this.#isReading = false;
    }
  }
}

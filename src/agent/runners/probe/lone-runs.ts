import type { Logger } from '@picket/lib/log.ts';
import { type FinishedRun, RunCrashes, type RunOrder } from '../../run/contracts.ts';
import { isRepeatable } from '../../run/repeatable.ts';
import type { StopSignal } from '../../run/run-stop.ts';
import { ThreadEnded } from '../threads/runner-thread.ts';

interface Suspect {
  readonly order: RunOrder;
  readonly signal: StopSignal;
  readonly resolve: (run: FinishedRun) => void;
  readonly reject: (error: Error) => void;
}

/** Identifies runs that ended a thread. */
const keyOf = ({ checkId, spec }: RunOrder) => `${checkId ?? ''} ${JSON.stringify(spec)}`;
const rememberedMs = 60 * 60_000;
const maxRemembered = 1000;

/**
 * Repeats the runs of a thread that died, apart from all others, until the culprit is known. The runs are split in two,
 * and each half gets the thread to itself; if a half ends the thread again, its unfinished runs are split again. In the
 * end one run is left, and the others have their results. Runs that change something at their target are not tried
 * together with others: they would be repeated too often.
 *
 * A check found this way runs alone from then on, until an hour after it last ended a thread.
 */
export class LoneRuns {
  readonly #options: LoneRunsOptions;
  readonly #waiting: Suspect[] = [];
  readonly #culprits = new Map<string, number>();
  #isWorking = false;

  constructor(options: LoneRunsOptions) {
    this.#options = options;
  }

  /** Whether the check of this run has ended a thread that it had to itself. */
  isCulprit(order: RunOrder): boolean {
    if (this.#culprits.size === 0) return false;
    const key = keyOf(order);
    const untilMs = this.#culprits.get(key);
    if (untilMs !== undefined && untilMs <= this.#options.nowMs()) this.#culprits.delete(key);
    return this.#culprits.has(key);
  }

  /** @throws RunCrashes if the run ended a thread that it had to itself. */
  run(order: RunOrder, signal: StopSignal): Promise<FinishedRun> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ order, signal, resolve, reject });
      if (this.#isWorking) return;
      this.#isWorking = true;
      // The runs of one thread arrive one by one, in the same turn.
      setImmediate(() => void this.#work());
    });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const suspects = this.#waiting.splice(0);
      const isShared = ({ order }: Suspect) => isRepeatable(order) && !this.isCulprit(order);
      await this.#halves(suspects.filter(isShared));
      for (const suspect of suspects) if (!isShared(suspect)) await this.#try([suspect]);
    }
    this.#isWorking = false;
  }

  async #halves(suspects: readonly Suspect[]): Promise<void> {
    const middle = Math.ceil(suspects.length / 2);
    await this.#try(suspects.slice(0, middle));
    await this.#try(suspects.slice(middle));
  }

  async #try(given: readonly Suspect[]): Promise<void> {
    const suspects = given.filter(({ signal, reject }) => {
      if (signal.aborted) reject(new ThreadEnded('the run was stopped before it ran again'));
      return !signal.aborted;
    });
    const left = (await Promise.all(suspects.map((suspect) => this.#runOne(suspect)))).filter(
      (rest) => rest !== undefined,
    );
    const [first] = left;
    if (!first) return;
    if (suspects.length > 1) await this.#halves(left.map(({ suspect }) => suspect));
    else this.#foundOut(first.suspect, first.error);
  }

  async #runOne(suspect: Suspect): Promise<{ suspect: Suspect; error: ThreadEnded } | undefined> {
    try {
      suspect.resolve(await this.#options.run(suspect.order, suspect.signal));
    } catch (thrown) {
      if (thrown instanceof ThreadEnded && !this.#options.isStopping()) return { suspect, error: thrown };
      suspect.reject(thrown as Error);
    }
    return undefined;
  }

  #foundOut({ order, reject }: Suspect, error: ThreadEnded): void {
    const { nowMs, log } = this.#options;
    const [oldest] = this.#culprits.keys();
    if (oldest !== undefined && this.#culprits.size >= maxRemembered) this.#culprits.delete(oldest);
    this.#culprits.set(keyOf(order), nowMs() + rememberedMs);
    log.error(
      { runId: order.runId, checkId: order.checkId, checkType: order.checkType, reason: error.message },
      'run crashed its isolated check thread; the check runs in isolation for an hour',
    );
    reject(new RunCrashes('The run crashed its isolated thread', { cause: error }));
  }
}

export interface LoneRunsOptions {
  readonly log: Logger;
  /** Runs an order in a thread without other runs. @throws ThreadEnded */
  readonly run: (order: RunOrder, signal: StopSignal) => Promise<FinishedRun>;
  readonly nowMs: () => number;
  readonly isStopping: () => boolean;
}

import { backoffDelayMs, type Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Signal } from '../store/engine/signals.ts';
import type { Store } from '../store/store.ts';

/** The work of a job, turn by turn. */
interface Work {
  /**
   * Runs one turn: does all due work and returns when to run next, in epoch milliseconds; null if nothing is scheduled.
   *
   * @param wake starts the next turn at once; during a turn, right after it.
   */
  turn(wake: () => void): Promise<number | null>;
  /** Makes a turn in progress end soon. */
  stop?(): void;
  /** Closes resources that outlive a turn, after the last one. */
  close?(): void | Promise<void>;
}

/** A background job of a process, as features define it. */
export interface Job {
  readonly name: string;
  /** Whether only the leader runs it; the other processes check now and then whether they lead. */
  readonly leaderOnly: boolean;
  /** Signals that start the next turn at once. `look` wakes every job that any signal wakes. */
  readonly wakesOn?: readonly Signal['kind'][];
  /** The longest sleep. Clocks jump and signals get lost, so no job relies on one timer for long. */
  readonly longestMs: number;
  readonly work: Work;
}

export interface JobContext {
  readonly store: Pick<Store, 'isLeader' | 'signals'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Shortest sleep between two turns, which batches work that becomes due within it. */
const shortestMs = 20;
/** Interval at which a process that does not lead checks whether it does. */
const leaderPollMs = 2_000;

/**
 * Runs a background job: a turn, a sleep until the next due time or a signal, the next turn. Turns never overlap. After
 * an error the loop continues with growing pauses: an outage of the database must not end it.
 */
export class JobLoop {
  readonly #job: Job;
  readonly #context: JobContext;
  readonly #stopping = new AbortController();
  #woken = new AbortController();
  #loop: Promise<void> | undefined;
  #unsubscribe: (() => void) | undefined;
  #forgetClock: (() => void) | undefined;

  constructor(job: Job, context: JobContext) {
    this.#job = job;
    this.#context = context;
  }

  get name(): string {
    return this.#job.name;
  }

  start(): void {
    if (this.#loop) return;
    const { wakesOn = [] } = this.#job;
    if (wakesOn.length > 0) {
      this.#unsubscribe = this.#context.store.signals.subscribe(({ kind }) => {
        if (kind === 'look' || wakesOn.includes(kind)) this.#woken.abort();
      });
    }
    // The current sleep ends at a date, and dates have moved.
    this.#forgetClock = this.#context.clock.onSet?.(() => this.#woken.abort());
    this.#loop = this.#run();
  }

  /** Resolves when the current turn is done and the job's resources are closed; no further turn begins. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#forgetClock?.();
    this.#stopping.abort();
    this.#job.work.stop?.();
    await this.#loop;
    await this.#job.work.close?.();
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#context;
    const { name, longestMs } = this.#job;
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      this.#woken = new AbortController();
      let sleepMs = longestMs;
      try {
        const next = await this.#turn();
        failures = 0;
        if (next !== null) sleepMs = Math.min(longestMs, Math.max(shortestMs, next - clock.wallMs()));
      } catch (thrown) {
        sleepMs = 250 + backoffDelayMs(failures, { baseMs: 250, capMs: 3_000 });
        failures += 1;
        const level = failures === 1 ? 'error' : 'debug';
        logger[level]({ job: name, reason: toError(thrown).message }, 'background job failed; retrying');
      }
      const signal = AbortSignal.any([this.#woken.signal, this.#stopping.signal]);
      await clock.sleep(sleepMs, signal);
    }
  }

  async #turn(): Promise<number | null> {
    const { store, clock } = this.#context;
    if (this.#job.leaderOnly && !(await store.isLeader())) return clock.wallMs() + leaderPollMs;
    return this.#job.work.turn(() => this.#woken.abort());
  }
}

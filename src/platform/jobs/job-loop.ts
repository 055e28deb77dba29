import { backoffDelayMs, type Clock } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Signal } from '../store/engine/signals.ts';
import type { Store } from '../store/store.ts';

/** What a job does, turn by turn. */
interface Work {
  /**
   * One turn: does what is due and returns when to run next, in epoch milliseconds; null when nothing is
   * known.
   *
   * @param wake starts the next turn at once; during a turn, right after it.
   */
  turn(wake: () => void): Promise<number | null>;
  /** Has a turn under way come to its end soon. */
  stop?(): void;
  /** Waits for and closes what outlives a turn, after the last one. */
  close?(): void | Promise<void>;
}

/** Something that a process does in the background, as features have it. */
export interface Job {
  readonly name: string;
  /** Whether only the leader runs it; the other processes look now and then whether they lead. */
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

/** Shortest sleep between two turns: what is due within it is done together. */
const shortestMs = 20;
/** How often a process that does not lead looks whether it does. */
const leaderPollMs = 2_000;

/**
 * Runs a background job: a turn, a sleep until the next thing is due or a signal comes, the next turn. Turns
 * never overlap. When one throws, the loop goes on with growing pauses: a database that is away for an hour
 * must not end it.
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
    // What the sleep under way ends at is a date, and dates have moved.
    this.#forgetClock = this.#context.clock.onSet?.(() => this.#woken.abort());
    this.#loop = this.#run();
  }

  /**
   * Resolves when the turn under way is done and what the job opened is closed; there will be no other turn.
   */
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

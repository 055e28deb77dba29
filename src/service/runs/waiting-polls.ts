import type { Clock } from '@picket/lib/clock.ts';
import type { Signal, Signals } from '@picket/platform/store/engine/signals.ts';

/** A long poll that waits for work. */
export interface WaitingPoll {
  /** Sleeps until there may be work for this poll, the time is over, the signal aborts or the poll is dismissed. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** True once the poll should return empty: its key was revoked, or its agent let a lease expire. */
  readonly isDismissed: boolean;
  /** Runs of its session that were cancelled while it waited. */
  readonly cancelledRunIds: readonly string[];
  /** Runs of its session whose log someone began to read while it waited. */
  readonly followedRunIds: readonly string[];
  leave(): void;
}

export interface PollInterest {
  readonly locationId: string;
  readonly sessionId: string;
  readonly lanes: readonly string[];
  readonly checkTypes: readonly string[];
}

class Waiter implements WaitingPoll {
  readonly interest: PollInterest;
  readonly #clock: Clock;
  readonly #onLeave: (waiter: Waiter) => void;
  #news = new AbortController();
  isDismissed = false;
  readonly cancelledRunIds: string[] = [];
  readonly followedRunIds: string[] = [];

  constructor(interest: PollInterest, clock: Clock, onLeave: (waiter: Waiter) => void) {
    this.interest = interest;
    this.#clock = clock;
    this.#onLeave = onLeave;
  }

  get isAwake(): boolean {
    return this.#news.signal.aborted;
  }

  wake(): void {
    this.#news.abort();
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([this.#news.signal, signal]));
    this.#news = new AbortController();
  }

  leave(): void {
    this.#onLeave(this);
  }
}

/**
 * Waiting long polls, by location. New runs wake as many matching polls as there are runs, those that have waited
 * longest first, so that a hundred idle agents do not all query the database for one run. A poll joins before it
 * queries for work, so nothing that arrives in between is missed.
 */
export class WaitingPolls {
  readonly #clock: Clock;
  readonly #unsubscribe: () => void;
  readonly #byLocation = new Map<string, Set<Waiter>>();

  constructor(clock: Clock, signals: Signals) {
    this.#clock = clock;
    this.#unsubscribe = signals.subscribe((signal) => this.#onSignal(signal));
  }

  join(interest: PollInterest): WaitingPoll {
    const { locationId } = interest;
    const waiter = new Waiter(interest, this.#clock, (left) => {
      const waiters = this.#byLocation.get(locationId);
      waiters?.delete(left);
      if (waiters?.size === 0) this.#byLocation.delete(locationId);
    });
    const waiters = this.#byLocation.get(locationId) ?? new Set();
    waiters.add(waiter);
    this.#byLocation.set(locationId, waiters);
    return waiter;
  }

  /** Number of polls of a location. */
  countOf(locationId: string): number {
    return this.#byLocation.get(locationId)?.size ?? 0;
  }

  close(): void {
    this.#unsubscribe();
  }

  /** A poll of a session: one is enough to deliver news. */
  #ofSession(session: { readonly locationId: string; readonly sessionId: string }): Waiter | undefined {
    for (const waiter of this.#byLocation.get(session.locationId) ?? []) {
      if (waiter.interest.sessionId === session.sessionId) return waiter;
    }
    return undefined;
  }

  #onSignal(signal: Signal): void {
    if (signal.kind === 'look') {
      for (const waiters of this.#byLocation.values()) for (const waiter of waiters) waiter.wake();
    } else if (signal.kind === 'dismiss') {
      for (const waiter of this.#byLocation.get(signal.locationId) ?? []) {
        if (signal.sessionId !== undefined && signal.sessionId !== waiter.interest.sessionId) continue;
        waiter.isDismissed = true;
        waiter.wake();
      }
    } else if (signal.kind === 'cancelled') {
      const waiter = this.#ofSession(signal);
      waiter?.cancelledRunIds.push(signal.runId);
      waiter?.wake();
    } else if (signal.kind === 'followed') {
      const waiter = signal.holder && this.#ofSession(signal.holder);
      waiter?.followedRunIds.push(signal.runId);
      waiter?.wake();
    } else if (signal.kind === 'queued') {
      let left = signal.count;
      for (const waiter of this.#byLocation.get(signal.locationId) ?? []) {
        if (left === 0) break;
        const { lanes, checkTypes } = waiter.interest;
        const canTake = lanes.includes(signal.lane) && checkTypes.includes(signal.checkType);
        if (!canTake || waiter.isAwake) continue;
        waiter.wake();
        left -= 1;
      }
    }
  }
}

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
  /**
   * Wakes another poll for the rest of the runs that this one was woken for.
   *
   * @param taken how many of them it took; 1 as well for a look that found none, so that this ends.
   */
  passOn(taken: number): void;
  leave(): void;
}

export interface PollInterest {
  readonly locationId: string;
  readonly sessionId: string;
  /** Free slots of each lane that has any. */
  readonly freeSlots: ReadonlyMap<string, number>;
  readonly checkTypes: readonly string[];
}

/** Runs that a poll was woken for. */
interface Offer {
  readonly lane: string;
  readonly checkType: string;
  readonly runs: number;
}

interface Registry {
  left(waiter: Waiter): void;
  passOn(waiter: Waiter, offer: Offer): void;
}

class Waiter implements WaitingPoll {
  readonly interest: PollInterest;
  readonly #clock: Clock;
  readonly #registry: Registry;
  #offer: Offer | undefined;
  #news = new AbortController();
  isDismissed = false;
  readonly cancelledRunIds: string[] = [];
  readonly followedRunIds: string[] = [];

  constructor(interest: PollInterest, clock: Clock, registry: Registry) {
    this.interest = interest;
    this.#clock = clock;
    this.#registry = registry;
  }

  get isAwake(): boolean {
    return this.#news.signal.aborted;
  }

  wake(offer?: Offer): void {
    if (offer) this.#offer = offer;
    this.#news.abort();
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([this.#news.signal, signal]));
    this.#news = new AbortController();
  }

  passOn(taken: number): void {
    const offer = this.#offer;
    this.#offer = undefined;
    if (offer && offer.runs > taken) this.#registry.passOn(this, { ...offer, runs: offer.runs - taken });
  }

  leave(): void {
    // Its agent may have gone after this poll was woken and before it looked.
    this.passOn(0);
    this.#registry.left(this);
  }
}

/**
 * Waiting long polls, by location. New runs wake as many matching polls as have free slots for them, those that have
 * waited longest first: others would query the database for runs that are taken. A poll that cannot take what it was
 * woken for wakes another one, up to one for each run. A poll joins before it queries for work, so nothing that arrives
 * in between is missed.
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
    const waiter = new Waiter(interest, this.#clock, {
      left: (one) => {
        const waiters = this.#byLocation.get(locationId);
        waiters?.delete(one);
        if (waiters?.size === 0) this.#byLocation.delete(locationId);
      },
      passOn: (one, offer) => {
        // Only polls behind it, so that an offer is not passed in a circle.
        const all = [...(this.#byLocation.get(locationId) ?? [])];
        const behind = all.slice(all.indexOf(one) + 1);
        behind.find((other) => mayTake(other, offer))?.wake(offer);
      },
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
      const { lane, checkType } = signal;
      const isForAll = signal.count === Number.MAX_SAFE_INTEGER;
      let left = signal.count;
      for (const waiter of this.#byLocation.get(signal.locationId) ?? []) {
        if (left <= 0) break;
        if (!mayTake(waiter, signal)) continue;
        const runs = Math.min(left, waiter.interest.freeSlots.get(lane) ?? 1);
        waiter.wake(isForAll ? undefined : { lane, checkType, runs });
        left -= runs;
      }
    }
  }
}

/** Whether a poll sleeps and would take such runs. */
function mayTake({ interest, isAwake }: Waiter, { lane, checkType }: Omit<Offer, 'runs'>): boolean {
  return !isAwake && interest.freeSlots.has(lane) && interest.checkTypes.includes(checkType);
}

import type { Clock } from '@picket/lib/clock.ts';

/** Two quartz clocks drift apart by at most this much: 100 parts per million. */
const driftPerMs = 1e-4;
/** A sample this old should be renewed by a short call. */
const staleAfterMs = 300_000;
/** Knowing no better than this is not knowing. */
const uselessErrorMs = 60_000;

/**
 * The service's clock, as far as the agent can know it. Each answer carries the service's time; it was read
 * somewhere between sending the request and receiving the answer, so a sample is good to half the round trip.
 * The best sample is kept, growing worse with its age. The offset is taken against our monotonic clock: it
 * does not care how wrong the host's wall clock is, nor when somebody sets it.
 */
export class ServiceClock {
  readonly #clock: Clock;
  #best: { readonly offsetMs: number; readonly errorMs: number; readonly takenAtMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Learns from one answer. Both instants are `monotonicMs`. */
  sample(serverTimeMs: number, sentAtMs: number, receivedAtMs: number): void {
    const sample = {
      offsetMs: serverTimeMs - (sentAtMs + receivedAtMs) / 2,
      errorMs: (receivedAtMs - sentAtMs) / 2,
      takenAtMs: receivedAtMs,
    };
    const currentErrorMs = this.errorMs;
    const apartMs = Math.abs(sample.offsetMs - (this.#best?.offsetMs ?? 0));
    // Samples that cannot both be right mean that the service's clock was set: the newer one holds.
    const isContradiction = apartMs > sample.errorMs + currentErrorMs + 1;
    // A stale sample gives way to any newer one: else short calls would be asked for until a better one came.
    if (sample.errorMs <= currentErrorMs || isContradiction || this.isStale) this.#best = sample;
  }

  /**
   * Something happened to this host's clocks: what was known holds until the next answer, whatever that is
   * worth.
   */
  distrust(): void {
    if (this.#best) this.#best = { ...this.#best, errorMs: Number.MAX_SAFE_INTEGER };
  }

  /**
   * What to add to `monotonicMs` to get the service's epoch milliseconds. Before any answer: this host's wall
   * clock.
   */
  get offsetMs(): number {
    return this.#best?.offsetMs ?? this.#clock.wallMs() - this.#clock.monotonicMs();
  }

  /** Epoch milliseconds by the service's clock, as well as it is known. */
  nowMs(): number {
    return this.#clock.monotonicMs() + this.offsetMs;
  }

  /** How far off the offset may be, in milliseconds; Infinity before any answer. */
  get errorMs(): number {
    if (!this.#best) return Number.POSITIVE_INFINITY;
    return this.#best.errorMs + (this.#clock.monotonicMs() - this.#best.takenAtMs) * driftPerMs;
  }

  /** How far this host's wall clock is ahead of the service's, in milliseconds. */
  get wallSkewMs(): number {
    return this.#clock.wallMs() - this.nowMs();
  }

  /** True when there is no recent good sample: the next call should be a short one. */
  get isStale(): boolean {
    return (
      this.errorMs > uselessErrorMs || this.#clock.monotonicMs() - (this.#best?.takenAtMs ?? 0) > staleAfterMs
    );
  }

  /** When, on our monotonic clock, the service's clock showed that time. */
  toMonotonicMs(serverTimeMs: number): number {
    return serverTimeMs - this.offsetMs;
  }
}

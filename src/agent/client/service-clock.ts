import type { Clock } from '@picket/lib/clock.ts';

/** Two quartz clocks drift apart by at most this much: 100 parts per million. */
const driftPerMs = 1e-4;
/** A sample this old should be refreshed by a short call. */
const staleAfterMs = 300_000;
/** An estimate with a larger error is useless. */
const uselessErrorMs = 60_000;

/**
 * Estimates the service's clock. Each response carries the service's time, read at some instant between sending the
 * request and receiving the response, so a sample is accurate to half the round trip. The best sample is kept; its
 * error grows with its age. The offset is relative to the monotonic clock, which is unaffected if the host's wall clock
 * is wrong or gets set.
 */
export class ServiceClock {
  readonly #clock: Clock;
  #best: { readonly offsetMs: number; readonly errorMs: number; readonly takenAtMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a sample from one response. Both instants are `monotonicMs`. */
  sample(serverTimeMs: number, sentAtMs: number, receivedAtMs: number): void {
    const sample = {
      offsetMs: serverTimeMs - (sentAtMs + receivedAtMs) / 2,
      errorMs: (receivedAtMs - sentAtMs) / 2,
      takenAtMs: receivedAtMs,
    };
    const currentErrorMs = this.errorMs;
    const apartMs = Math.abs(sample.offsetMs - (this.#best?.offsetMs ?? 0));
    // Two samples that contradict each other mean that the service's clock was set: the newer one is right.
    const isContradiction = apartMs > sample.errorMs + currentErrorMs + 1;
    // Any newer sample replaces a stale one: otherwise the agent would make short calls until a better sample arrived.
    if (sample.errorMs <= currentErrorMs || isContradiction || this.isStale) this.#best = sample;
  }

  /**
   * Called when this host's clocks have jumped. The offset is kept until the next response, however inaccurate that is.
   */
  distrust(): void {
    if (this.#best) this.#best = { ...this.#best, errorMs: Number.MAX_SAFE_INTEGER };
  }

  /**
   * Offset from `monotonicMs` to the service's epoch milliseconds. Before the first response, this host's wall clock is
   * used.
   */
  get offsetMs(): number {
    return this.#best?.offsetMs ?? this.#clock.wallMs() - this.#clock.monotonicMs();
  }

  /** Epoch milliseconds by the service's clock, as estimated. */
  nowMs(): number {
    return this.#clock.monotonicMs() + this.offsetMs;
  }

  /** Possible error of the offset, in milliseconds; Infinity before the first response. */
  get errorMs(): number {
    if (!this.#best) return Number.POSITIVE_INFINITY;
    return this.#best.errorMs + (this.#clock.monotonicMs() - this.#best.takenAtMs) * driftPerMs;
  }

  /** How far this host's wall clock is ahead of the service's, in milliseconds. */
  get wallSkewMs(): number {
    return this.#clock.wallMs() - this.nowMs();
  }

  /** True without a recent, accurate sample: the next call should be a short one. */
  get isStale(): boolean {
    return (
      this.errorMs > uselessErrorMs || this.#clock.monotonicMs() - (this.#best?.takenAtMs ?? 0) > staleAfterMs
    );
  }

  /** Converts a time of the service's clock to the monotonic clock. */
  toMonotonicMs(serverTimeMs: number): number {
    return serverTimeMs - this.offsetMs;
  }
}

import type { Clock } from '@picket/lib/clock.ts';

/** Timers count whole milliseconds: what is due within this time starts now instead of a millisecond late. */
const toleranceMs = 0.5;

/**
 * Things whose times lie within such a step of each other start together, at its end: in a thread that is awake, and with
 * warm caches, a check costs much less. At 100 checks a second steps of 25 ms took a tenth more CPU time of an agent.
 */
const stepMs = 100;

/** The end of the step in which a time lies. */
const endOfStep = (timeMs: number) => Math.ceil(timeMs / stepMs) * stepMs;

/** Starts things at their times, each once, or a step later at most. One timer serves all: hundreds may wait. */
export class StartTimes<Item> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #start: (item: Item) => void;
  readonly #whenToStart: (timeMs: number) => number;
  /** Earliest first. */
  readonly #waiting: { readonly item: Item; readonly atMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: {
    readonly clock: Pick<Clock, 'monotonicMs'>;
    readonly start: (item: Item) => void;
    /** When a thing starts whose time is `timeMs`, never later for an earlier one; by default in steps of 100 ms. */
    readonly whenToStart?: (timeMs: number) => number;
  }) {
    this.#clock = options.clock;
    this.#start = options.start;
    this.#whenToStart = options.whenToStart ?? endOfStep;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /** @param timeMs on the monotonic clock. */
  add(item: Item, timeMs: number): void {
    const atMs = this.#whenToStart(timeMs);
    // Items arrive nearly in order.
    let place = this.#waiting.length;
    while (place > 0 && (this.#waiting[place - 1]?.atMs ?? 0) > atMs) place -= 1;
    this.#waiting.splice(place, 0, { item, atMs });
    this.#schedule();
  }

  delete(item: Item): void {
    const place = this.#waiting.findIndex((waiting) => waiting.item === item);
    if (place === -1) return;
    this.#waiting.splice(place, 1);
    if (this.#waiting.length === 0) this.#rest();
  }

  /** Removes and returns all that have not started. */
  takeAll(): Item[] {
    this.#rest();
    return this.#waiting.splice(0).map(({ item }) => item);
  }

  #schedule(): void {
    const [first] = this.#waiting;
    if (!first || first.atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = first.atMs;
    const waitMs = Math.max(0, Math.ceil(first.atMs - toleranceMs - this.#clock.monotonicMs()));
    this.#timer = setTimeout(() => this.#startDue(), waitMs);
  }

  #startDue(): void {
    this.#rest();
    const untilMs = this.#clock.monotonicMs() + toleranceMs;
    const later = this.#waiting.findIndex(({ atMs }) => atMs > untilMs);
    for (const { item } of this.#waiting.splice(0, later === -1 ? this.#waiting.length : later))
      this.#start(item);
    this.#schedule();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }
}

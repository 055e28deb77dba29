import type { Clock } from '@picket/lib/clock.ts';

/** Timers count whole milliseconds: what is due within this time starts now instead of a millisecond late. */
const toleranceMs = 0.5;

/**
 * Things whose times lie within such a step of each other start together, at its end. Each start by itself wakes three
 * threads: at 100 checks a second that is a fifth of the CPU time of an agent.
 */
const stepMs = 25;

/** Starts things at their times, each once, or a step later at most. One timer serves all: hundreds may wait. */
export class StartTimes<Item> {
  readonly #clock: Clock;
  readonly #start: (item: Item) => void;
  /** Earliest first. */
  readonly #waiting: { readonly item: Item; readonly atMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: { readonly clock: Clock; readonly start: (item: Item) => void }) {
    this.#clock = options.clock;
    this.#start = options.start;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /** @param timeMs on the monotonic clock. */
  add(item: Item, timeMs: number): void {
    const atMs = Math.ceil(timeMs / stepMs) * stepMs;
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

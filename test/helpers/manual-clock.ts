import { type Clock, ClockListeners } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that only moves when the test says so. Sleepers wake when their time has come. */
export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #listeners = new ClockListeners();

  constructor(wallMs = Date.UTC(2026, 0, 1)) {
    this.#wallMs = wallMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** How many wait for their time to come. */
  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = {
        atMs: this.#monotonicMs + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal?.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  /** Sets the clock on the wall, as somebody might; no time passes. */
  set(wallMs: number): void {
    this.#wallMs = wallMs;
    this.#listeners.call();
  }

  onSet(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Moves time on, waking sleepers in the order of their times. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    this.#wallMs += ms;
    this.#monotonicMs = endMs;
    for (const sleeper of [...this.#sleepers].sort((left, right) => left.atMs - right.atMs)) {
      if (sleeper.atMs <= endMs) sleeper.wake();
    }
  }
}

import { type Clock, ClockListeners } from '../../src/lib/clock.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** A clock that only the test moves. Sleepers wake when their time is reached. */
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

  /** Number of pending sleepers. */
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

  /** Sets the wall clock, as an administrator might; no time passes. */
  set(wallMs: number): void {
    this.#wallMs = wallMs;
    this.#listeners.call();
  }

  onSet(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Advances time and wakes sleepers in order. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    this.#wallMs += ms;
    this.#monotonicMs = endMs;
    for (const sleeper of [...this.#sleepers].sort((left, right) => left.atMs - right.atMs)) {
      if (sleeper.atMs <= endMs) sleeper.wake();
    }
  }
}

import { backoffDelayMs, type Clock, waitAtMost } from '@picket/lib/clock.ts';
import { toError } from '@picket/lib/errors.ts';
import { ReferenceProblem } from './problem.ts';
import type { Content, Fetched, OpenProvider } from './provider.ts';

/** Pauses after a failed fetch: 5 s, doubled up to a minute. */
const firstRetryMs = 5000;
const maxRetryMs = 60_000;
/** How late a fetch may be before its content no longer counts as current. */
const latenessMs = 60_000;
/** Longest wait for the end of a fetch when the agent stops. */
const stopMs = 1000;
/** No provider is contacted more often, whatever lease it grants. */
const minPauseMs = 1000;

/** The state of a place, for metrics and doctors. */
export interface PlaceState {
  /** When it was fetched last, on the monotonic clock; undefined if it never was. */
  readonly fetchedAtMs: number | undefined;
  /** Why the last fetch failed; undefined if it did not. */
  readonly problem: ReferenceProblem | undefined;
}

export interface PlaceOptions {
  readonly provider: OpenProvider;
  readonly place: string;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly maxStaleMs: number;
  /** Called after each fetch, before any run gets the content. */
  readonly onFetched: (content: Content) => void;
  /** Removes secrets from the message of a problem. */
  readonly clean: (text: string) => string;
  /** Called after each failed fetch. */
  readonly onFailed: (problem: ReferenceProblem) => void;
}

/**
 * One place that holds secrets: fetched at the start and then at intervals, whether runs need it or not, so that no run
 * waits for a provider, and problems are known before a run has them. Several references may name its fields.
 *
 * UNKNOWN until the first fetch ends: runs wait for that. → CURRENT: runs use the content. → STALE while fetches fail:
 * runs use the content until `maxStaleMs` after its fetch, or until its lease ends. → UNAVAILABLE: runs fail.
 */
export class SecretPlace {
  readonly #options: PlaceOptions;
  readonly #stop = new AbortController();
  #current: (Fetched & { readonly atMs: number }) | undefined;
  #problem: ReferenceProblem | undefined;
  #failures = 0;
  #fetching: Promise<void> | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: PlaceOptions) {
    this.#options = options;
  }

  get state(): PlaceState {
    return { fetchedAtMs: this.#current?.atMs, problem: this.#problem };
  }

  start(): void {
    this.#loop ??= this.#repeat();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    // A file on a disk that hangs cannot be given up.
    const ended = Promise.all([this.#loop, this.#fetching]);
    await waitAtMost(this.#options.clock, ended, stopMs);
  }

  /** Whether there is neither a usable content nor a reason for that: the first fetch has not ended. */
  get isUnknown(): boolean {
    return this.#problem === undefined && this.usable === undefined;
  }

  /** Resolves when a fetch has ended, the one in progress or a new one. */
  async fetched(): Promise<void> {
    await this.#fetch();
  }

  /** The content, if runs may use it now. */
  get usable(): Content | undefined {
    if (!this.#current) return undefined;
    const ageMs = this.#options.clock.monotonicMs() - this.#current.atMs;
    const { ttlMs = Infinity } = this.#current;
    const { maxStaleMs, intervalMs } = this.#options;
    // Without a problem it is current, unless the host slept through a fetch.
    const staleMs = this.#problem ? maxStaleMs : 2 * intervalMs + latenessMs;
    const limitMs = Math.min(ttlMs, staleMs);
    return ageMs < limitMs ? this.#current.content : undefined;
  }

  async #repeat(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#fetch();
      await clock.sleep(this.#pauseMs(), this.#stop.signal);
    }
  }

  /** Jitter keeps agents that started together from fetching together. */
  #pauseMs(): number {
    const { intervalMs } = this.#options;
    if (this.#failures > 0) {
      const ceilingMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(this.#failures - 1, 10));
      return Math.min(
        intervalMs,
        ceilingMs / 2 + backoffDelayMs(0, { baseMs: ceilingMs / 2, capMs: ceilingMs }),
      );
    }
    const { ttlMs = Infinity, refreshWithinMs = Infinity } = this.#current ?? {};
    const withinMs = Math.min(intervalMs, (ttlMs * 2) / 3, refreshWithinMs);
    return Math.max(minPauseMs, withinMs * (0.9 + Math.random() * 0.1));
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<void> {
    const { provider, place, clock, clean, onFetched, onFailed } = this.#options;
    try {
      const startedAtMs = clock.monotonicMs();
      const fetched = await provider.fetch(place, this.#stop.signal);
      onFetched(fetched.content);
      this.#current = { ...fetched, atMs: startedAtMs };
      this.#problem = undefined;
      this.#failures = 0;
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      this.#failures += 1;
      this.#problem =
        thrown instanceof ReferenceProblem
          ? new ReferenceProblem(thrown.reason, clean(thrown.message), thrown.status)
          : new ReferenceProblem('FAILED', `unexpected error (${toError(thrown).name})`);
      onFailed(this.#problem);
    }
  }
}

import type { Runtime } from '../runtimes/runtimes.ts';
import type { SandboxedProcess } from '../sandbox.ts';

/** Processes for a runtime that no run has asked for since are not replaced. */
const unusedRuntimeMs = 10 * 60_000;
/** How often to check whether a processor is free to start another process. */
const pollMs = 100;
/** A processor counts as free when it was idle for this share of the time since the last check. */
const idleShare = 0.6;
/**
 * A process that died is not replaced at once: if it was killed for lack of memory, the next one would be,
 * too.
 */
const afterDeathMs = 3000;

/** A process that was started ahead of its job. */
export interface StartedProcess<Warm> {
  readonly warm: Warm;
  /** Resolves with true when it has loaded everything, with false when that took too long or it ended. */
  readonly loaded: Promise<boolean>;
}

interface Entry<Warm> {
  readonly warm: Warm;
  readonly startedAtMs: number;
  /** Resolves when a run has it. */
  readonly taken: PromiseWithResolvers<void>;
}

interface Pool<Warm> {
  readonly runtime: Runtime;
  wantedAtMs: number;
  readonly entries: Set<Entry<Warm>>;
}

export interface WarmProcessesOptions<Warm> {
  /** The most processes that wait at a time. */
  readonly maxCount: number;
  /** The most that wait for one runtime. */
  readonly countPerRuntime: number;
  /** On a busy host, a process is started after waiting this long for a free processor, in milliseconds. */
  readonly patienceMs: number;
  /** A process that has waited this long is replaced by a fresh one, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether the host has memory for one more. */
  readonly hasRoom: () => boolean;
  /** Idle time of all processors together since the host started, in milliseconds. */
  readonly idleMs: () => number;
  /** Starts one; resolves with undefined when that is not possible now. */
  readonly start: (runtime: Runtime) => Promise<StartedProcess<Warm> | undefined>;
  readonly release: (warm: Warm) => void;
}

/**
 * Warm processes: they have loaded everything and wait for a script. Each is used once, by one run, and
 * replaced when a processor is free. One that dies or grows old is released and replaced.
 *
 * LOADING: one at a time. A run may take it already, as it has loaded more than a new process would have. →
 * READY → taken by a run, from either state; or dropped.
 */
export class WarmProcesses<Warm extends { readonly process: SandboxedProcess }> {
  readonly #options: WarmProcessesOptions<Warm>;
  readonly #pools = new Map<string, Pool<Warm>>();
  #filling: Promise<void> | undefined;
  #isClosed = false;
  #lastIdle: { idleMs: number; atMs: number } | undefined;

  constructor(options: WarmProcessesOptions<Warm>) {
    this.#options = options;
  }

  /** A warm process if there is one; from then on it belongs to the caller. */
  take(runtime: Runtime): Warm | undefined {
    const { entries } = this.#pool(runtime);
    // The oldest comes first: if one is still loading, it is the last.
    const [entry] = entries;
    if (entry) entries.delete(entry);
    entry?.taken.resolve();
    this.want(runtime);
    return entry?.warm;
  }

  /** Keeps processes for a runtime ready from now on, as far as there is room. */
  want(runtime: Runtime): void {
    this.#pool(runtime).wantedAtMs = performance.now();
    this.#startFilling();
  }

  /** Resolves when nothing is missing any more, or there is no room for what is. */
  async filled(): Promise<void> {
    await this.#filling;
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#dropAll();
    await this.#filling;
    // One more may have been started since.
    this.#dropAll();
  }

  /** Starts what is missing, one after the other, as processors become free. */
  #startFilling(): void {
    if (this.#isClosed || this.#filling) return;
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined;
    });
  }

  async #fill(): Promise<void> {
    for (;;) {
      this.#dropOld();
      if (!this.#mostMissing()) return;
      const sinceMs = performance.now();
      while (
        !this.#isClosed &&
        !this.#isProcessorFree() &&
        performance.now() - sinceMs < this.#options.patienceMs
      ) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
      // Another runtime may need one more by now.
      const pool = this.#mostMissing();
      if (!pool || !this.#options.hasRoom()) return;
      const started = await this.#options.start(pool.runtime);
      if (!started || !(await this.#keep(pool, started))) return;
    }
  }

  /** @returns whether it has loaded, or a run has it. */
  async #keep(pool: Pool<Warm>, { warm, loaded }: StartedProcess<Warm>): Promise<boolean> {
    const entry = { warm, startedAtMs: performance.now(), taken: Promise.withResolvers<void>() };
    pool.entries.add(entry);
    if (this.#isClosed) this.#drop(pool, entry);
    void warm.process.ended.then(() => {
      if (!pool.entries.has(entry)) return;
      // No run has it: it died, or has waited for as long as it may.
      this.#drop(pool, entry);
      setTimeout(() => this.#startFilling(), afterDeathMs).unref();
    });
    const isUsable = await Promise.race([loaded, entry.taken.promise.then(() => true)]);
    if (!isUsable && pool.entries.has(entry)) this.#drop(pool, entry);
    return isUsable;
  }

  /** The runtime with the fewest processes among those that need more; of equals, the one wanted last. */
  #mostMissing(): Pool<Warm> | undefined {
    if (this.#isClosed || this.#count >= this.#options.maxCount) return undefined;
    const nowMs = performance.now();
    return [...this.#pools.values()]
      .filter(({ entries, wantedAtMs }) => {
        return entries.size < this.#options.countPerRuntime && nowMs - wantedAtMs < unusedRuntimeMs;
      })
      .sort((left, right) => left.entries.size - right.entries.size || right.wantedAtMs - left.wantedAtMs)[0];
  }

  get #count(): number {
    return [...this.#pools.values()].reduce((sum, { entries }) => sum + entries.size, 0);
  }

  #dropOld(): void {
    const nowMs = performance.now();
    for (const pool of this.#pools.values()) {
      for (const entry of pool.entries) {
        const isOld = nowMs - entry.startedAtMs > this.#options.maxAgeMs;
        const isUnused = nowMs - pool.wantedAtMs > unusedRuntimeMs && this.#count >= this.#options.maxCount;
        if (isOld || isUnused) this.#drop(pool, entry);
      }
    }
  }

  #dropAll(): void {
    for (const pool of this.#pools.values()) for (const entry of pool.entries) this.#drop(pool, entry);
  }

  #drop(pool: Pool<Warm>, entry: Entry<Warm>): void {
    pool.entries.delete(entry);
    this.#options.release(entry.warm);
  }

  #pool(runtime: Runtime): Pool<Warm> {
    let pool = this.#pools.get(runtime.id);
    if (!pool) {
      pool = { runtime, wantedAtMs: performance.now(), entries: new Set() };
      this.#pools.set(runtime.id, pool);
    }
    return pool;
  }

  #isProcessorFree(): boolean {
    const now = { idleMs: this.#options.idleMs(), atMs: performance.now() };
    const last = this.#lastIdle;
    this.#lastIdle = now;
    // Nothing recent to compare with: the next check knows.
    if (!last || now.atMs - last.atMs > 10 * pollMs) return false;
    const elapsedMs = now.atMs - last.atMs;
    return elapsedMs > 0 && (now.idleMs - last.idleMs) / elapsedMs >= idleShare;
  }
}

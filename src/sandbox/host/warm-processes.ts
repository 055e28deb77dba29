import type { SandboxedProcess } from '../sandbox.ts';

/** The runs of this time decide how many processes wait for the next one. */
const recentMs = 60_000;
/** How often to check whether a processor is free to start another process. */
const pollMs = 100;
/** A processor counts as free if it was idle for this share of the time since the last check. */
const idleShare = 0.6;
/**
 * Delay before a dead process is replaced: if it was killed for lack of memory, an immediate successor would be, too.
 */
const afterDeathMs = 3000;

/** A process that was started ahead of its job. */
export interface StartedProcess<Warm> {
  readonly warm: Warm;
  /** Resolves with true once it has loaded everything, with false if that took too long or it ended. */
  readonly loaded: Promise<boolean>;
}

interface Entry<Warm> {
  readonly warm: Warm;
  readonly startedAtMs: number;
  /** Resolves when a run takes it. */
  readonly taken: PromiseWithResolvers<void>;
}

/** Processes of one kind serve the same runs. */
interface Kind {
  readonly id: string;
}

interface Pool<Warm, Of extends Kind> {
  readonly kind: Of;
  /** Times of the last runs; the newest comes last. */
  readonly takenAtMs: number[];
  /** Whether another run is likely before a process for it would be given up. */
  isExpected: boolean;
  readonly entries: Set<Entry<Warm>>;
}

export interface WarmProcessesOptions<Warm, Of extends Kind> {
  /** Maximum number of warm processes. */
  readonly maxCount: number;
  /** Maximum number of one kind. */
  readonly countPerKind: number;
  /**
   * As many wait as runs came within this time of each other in the last minute, in milliseconds: each run of a burst, such as checks
   * of the same minute, finds one, and runs that come one after the other share the memory of one.
   */
  readonly burstMs: number;
  /** A process that no run of its kind has come for in this time is given up, in milliseconds. */
  readonly unusedMs: number;
  /** On a busy host, a process is started after waiting this long for a free processor, in milliseconds. */
  readonly patienceMs: number;
  /** A process that has waited this long is replaced by a fresh one, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether runs wait for a processor: a process of a later run would take it from them. */
  readonly isBusy: () => boolean;
  /** Whether the host has memory for another process. */
  readonly hasRoom: () => boolean;
  /** Total idle time of all processors since the host started, in milliseconds. */
  readonly idleMs: () => number;
  /** Starts a process; resolves with undefined if that is currently not possible. */
  readonly start: (kind: Of) => Promise<StartedProcess<Warm> | undefined>;
  readonly release: (warm: Warm) => void;
}

/**
 * Warm processes: they have loaded everything and wait for a script. Each is used once, by one run, and replaced when a
 * processor is free. One that dies or grows old is released and replaced. No process waits before the first run, after
 * the last one, or between runs that are further apart than it would wait: the memory of an idle agent is worth more
 * than the second of such a run.
 *
 * LOADING: one at a time. A run may take it already, as it is further than a new process would be. → READY → taken by a
 * run, from either state; or dropped.
 */
export class WarmProcesses<Warm extends { readonly process: SandboxedProcess }, Of extends Kind> {
  readonly #options: WarmProcessesOptions<Warm, Of>;
  readonly #pools = new Map<string, Pool<Warm, Of>>();
  #filling: Promise<void> | undefined;
  #isClosed = false;
  #sweep: NodeJS.Timeout | undefined;
  #lastIdle: { idleMs: number; atMs: number } | undefined;

  constructor(options: WarmProcessesOptions<Warm, Of>) {
    this.#options = options;
  }

  /** Takes a warm process for a run, if available; it then belongs to the caller. */
  take(kind: Of): Warm | undefined {
    const pool = this.#pool(kind);
    const { entries, takenAtMs } = pool;
    // The oldest comes first: only the last may still be loading.
    const [entry] = entries;
    if (entry) entries.delete(entry);
    entry?.taken.resolve();
    const nowMs = performance.now();
    const lastMs = takenAtMs.at(-1);
    // The first one may be the first of many.
    pool.isExpected = lastMs === undefined || nowMs - lastMs < this.#options.unusedMs;
    takenAtMs.push(nowMs);
    takenAtMs.splice(0, takenAtMs.length - this.#options.countPerKind);
    this.#startFilling();
    return entry?.warm;
  }

  /** Ends all warm processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sweep);
    this.#dropAll();
    await this.#filling;
    // Another one may have been started meanwhile.
    this.#dropAll();
  }

  /** Starts the missing processes, one at a time, as processors become free. */
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
        (this.#options.isBusy() ||
          (!this.#isProcessorFree() && performance.now() - sinceMs < this.#options.patienceMs))
      ) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
      // Another kind may need a process more urgently by now.
      const pool = this.#mostMissing();
      if (!pool || !this.#options.hasRoom()) return;
      const started = await this.#options.start(pool.kind);
      if (!started || !(await this.#keep(pool, started))) return;
    }
  }

  /** @returns true if it has loaded, or a run has taken it. */
  async #keep(pool: Pool<Warm, Of>, { warm, loaded }: StartedProcess<Warm>): Promise<boolean> {
    const entry = { warm, startedAtMs: performance.now(), taken: Promise.withResolvers<void>() };
    pool.entries.add(entry);
    this.#sweepLater();
    if (this.#isClosed) this.#drop(pool, entry);
    void warm.process.ended.then(() => {
      if (!pool.entries.has(entry)) return;
      // Not taken by a run: it died, or reached its maximum age.
      this.#drop(pool, entry);
      setTimeout(() => this.#startFilling(), afterDeathMs).unref();
    });
    const isUsable = await Promise.race([loaded, entry.taken.promise.then(() => true)]);
    if (!isUsable && pool.entries.has(entry)) this.#drop(pool, entry);
    return isUsable;
  }

  /** The kind with the fewest processes among those that need more; in a tie, the one used last. */
  #mostMissing(): Pool<Warm, Of> | undefined {
    if (this.#isClosed || this.#count >= this.#options.maxCount) return undefined;
    const nowMs = performance.now();
    return [...this.#pools.values()]
      .filter((pool) => pool.entries.size < this.#wantedCount(pool, nowMs))
      .sort((left, right) => left.entries.size - right.entries.size || usedAtMs(right) - usedAtMs(left))[0];
  }

  #wantedCount(pool: Pool<Warm, Of>, nowMs: number): number {
    if (!pool.isExpected || this.#isUnused(pool, nowMs)) return 0;
    const recent = pool.takenAtMs.filter((atMs) => nowMs - atMs < recentMs);
    const burstCounts = recent.map(
      (atMs) => recent.filter((other) => other >= atMs && other - atMs <= this.#options.burstMs).length,
    );
    return Math.min(this.#options.countPerKind, Math.max(1, ...burstCounts));
  }

  #isUnused(pool: Pool<Warm, Of>, nowMs: number): boolean {
    return nowMs - usedAtMs(pool) >= this.#options.unusedMs;
  }

  get #count(): number {
    return [...this.#pools.values()].reduce((sum, { entries }) => sum + entries.size, 0);
  }

  #dropOld(): void {
    const nowMs = performance.now();
    for (const pool of this.#pools.values()) {
      for (const entry of pool.entries) {
        const isOld = nowMs - entry.startedAtMs > this.#options.maxAgeMs;
        if (isOld || this.#isUnused(pool, nowMs)) this.#drop(pool, entry);
      }
    }
  }

  /** Gives up processes when their time is over. */
  #sweepLater(): void {
    if (this.#isClosed) return;
    const used = [...this.#pools.values()].filter(({ entries }) => entries.size > 0).map(usedAtMs);
    clearTimeout(this.#sweep);
    if (used.length === 0) return;
    const sweep = () => {
      this.#dropOld();
      this.#sweepLater();
    };
    const waitMs = Math.min(...used) + this.#options.unusedMs - performance.now();
    this.#sweep = setTimeout(sweep, Math.max(1, waitMs)).unref();
  }

  #dropAll(): void {
    for (const pool of this.#pools.values()) for (const entry of pool.entries) this.#drop(pool, entry);
  }

  #drop(pool: Pool<Warm, Of>, entry: Entry<Warm>): void {
    pool.entries.delete(entry);
    this.#options.release(entry.warm);
  }

  #pool(kind: Of): Pool<Warm, Of> {
    let pool = this.#pools.get(kind.id);
    if (!pool) {
      pool = { kind, takenAtMs: [], isExpected: false, entries: new Set() };
      this.#pools.set(kind.id, pool);
    }
    return pool;
  }

  #isProcessorFree(): boolean {
    const now = { idleMs: this.#options.idleMs(), atMs: performance.now() };
    const last = this.#lastIdle;
    this.#lastIdle = now;
    // Without a recent sample to compare with, the next check decides.
    if (!last || now.atMs - last.atMs > 10 * pollMs) return false;
    const elapsedMs = now.atMs - last.atMs;
    return elapsedMs > 0 && (now.idleMs - last.idleMs) / elapsedMs >= idleShare;
  }
}

function usedAtMs({ takenAtMs }: Pick<Pool<unknown, Kind>, 'takenAtMs'>): number {
  return takenAtMs.at(-1) ?? Number.NEGATIVE_INFINITY;
}

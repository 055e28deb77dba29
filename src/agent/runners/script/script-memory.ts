import type { Clock } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Room } from '../../run/contracts.ts';

/** During this time after its start a run has not reached its full memory use, in milliseconds. */
const settlingMs = 5000;
/** How long the measured memory use of a check stays valid, in milliseconds. */
const believedMs = 2 * 3_600_000;
const maxKnownChecks = 1000;
/** Allowance over the last run of the same check. */
const margin = 1.15;
/** Minimum interval between readings of free memory, in milliseconds: room is queried with every run of any lane. */
const readEveryMs = 100;
/** A type that needs no more than this always has room on an idle host: a small host would never run it otherwise. */
const alwaysBytes = 600 * 1024 ** 2;

/** A check type with its memory need. */
export interface MemoryType {
  readonly name: string;
  /** Assumed memory use of a run before it is known, in bytes. */
  readonly firstBytes: number;
}

/** A run that is about to start. */
export interface MemoryRun {
  readonly type: MemoryType;
  readonly checkId: string | undefined;
}

interface Peak {
  readonly typeName: string;
  readonly bytes: number;
  readonly isLimit: boolean;
  readonly atMs: number;
}

/**
 * Predicts the memory use of scripts from earlier runs: for a check its last peak; for a type, whose next run may be
 * any check's, the highest of these. That much is reserved for a run until its end, because suites grow late. The
 * memory left is what was free when no run was active, minus the reservations, and never more than what is free now.
 */
export class ScriptMemory {
  readonly #clock: Clock;
  readonly #availableBytes: () => number;
  readonly #running = new Map<
    string,
    MemoryRun & { readonly neededBytes: number; readonly startedAtMs: number }
  >();
  readonly #peaks = new LruMap<string, Peak>(maxKnownChecks);
  #idleBytes = Number.POSITIVE_INFINITY;
  #freeBytes = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** @param options.availableBytes memory that programs can still allocate before the host runs out. */
  constructor(options: { readonly clock: Clock; readonly availableBytes: () => number }) {
    this.#clock = options.clock;
    this.#availableBytes = options.availableBytes;
  }

  begin(runId: string, run: MemoryRun): void {
    const known = run.checkId === undefined ? undefined : this.#peaks.get(run.checkId);
    const neededBytes = known ? known.bytes * margin : run.type.firstBytes;
    this.#running.set(runId, { ...run, neededBytes, startedAtMs: this.#clock.monotonicMs() });
  }

  /**
   * @param peak.bytes undefined if unknown, for example for a run that could not be started.
   * @param peak.isLimit whether the run was ended at its memory limit. Its peak then says nothing about other checks.
   */
  end(runId: string, peak: { readonly bytes: number | undefined; readonly isLimit: boolean }): void {
    const run = this.#running.get(runId);
    this.#running.delete(runId);
    // Its memory may be free now.
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    if (run?.checkId === undefined || !peak.bytes) return;
    const atMs = this.#clock.monotonicMs();
    const { bytes, isLimit } = peak;
    this.#peaks.set(run.checkId, { typeName: run.type.name, bytes, isLimit, atMs });
  }

  /** Room for further runs, each of any of these types. */
  room(types: readonly MemoryType[]): Room {
    const leftBytes = this.#leftBytes();
    const isIdle = this.#running.size === 0;
    const counts = types.map((type) => {
      const bytes = this.#expectedBytes(type);
      const count = Math.max(0, Math.floor(leftBytes / bytes));
      return { name: type.name, count: isIdle && bytes <= alwaysBytes ? Math.max(1, count) : count };
    });
    const open = counts.filter(({ count }) => count > 0);
    return {
      // This many fit whatever their types.
      count: open.length === 0 ? 0 : Math.min(...open.map(({ count }) => count)),
      fullTypes: counts.filter(({ count }) => count === 0).map(({ name }) => name),
    };
  }

  #leftBytes(): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs >= readEveryMs) {
      this.#freeBytes = this.#availableBytes();
      this.#readAtMs = nowMs;
    }
    const freeBytes = this.#freeBytes;
    if (this.#running.size === 0) this.#idleBytes = freeBytes;
    let neededBytes = 0;
    let settlingBytes = 0;
    for (const run of this.#running.values()) {
      neededBytes += run.neededBytes;
      if (nowMs - run.startedAtMs < settlingMs) settlingBytes += run.neededBytes;
    }
    return Math.min(freeBytes - settlingBytes, this.#idleBytes - neededBytes);
  }

  #expectedBytes({ name, firstBytes }: MemoryType): number {
    const sinceMs = this.#clock.monotonicMs() - believedMs;
    const known = [...this.#peaks.values()].filter(
      ({ typeName, isLimit, atMs }) => typeName === name && !isLimit && atMs >= sinceMs,
    );
    return known.length === 0 ? firstBytes : Math.max(...known.map(({ bytes }) => bytes)) * margin;
  }
}

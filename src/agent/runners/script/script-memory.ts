import type { Clock } from '@picket/lib/clock.ts';
import { LruMap } from '@picket/lib/lru.ts';
import type { Room } from '../../run/contracts.ts';

/** For so long after its start a run has not yet taken what it will, in milliseconds. */
const settlingMs = 5000;
/** What a check took is believed for this long, in milliseconds. */
const believedMs = 2 * 3_600_000;
const maxKnownChecks = 1000;
/** A run may need that much more than the last one of its check. */
const margin = 1.15;
/**
 * What is free is read from the host at most this often, in milliseconds: rooms are asked for with every run
 * of any lane.
 */
const readEveryMs = 100;
/**
 * A type that needs no more than this has room wherever nothing runs: on a small host it would never be run.
 */
const alwaysBytes = 600 * 1024 ** 2;

/** A type of check as far as memory goes. */
export interface MemoryType {
  readonly name: string;
  /** What a run takes until it is known better, in bytes. */
  readonly firstBytes: number;
}

/** A run that is about to begin. */
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
 * What scripts take of the host's memory, learned from what they took: of each check its last peak, and of a
 * type, whose next run may be any check's, the highest of those. For what runs that much is set aside to its
 * end, as suites grow late. Left is what was free when nothing ran without what is set aside, and never more
 * than is free now.
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

  /** @param options.availableBytes what programs can still take before the host has none left. */
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
   * @param peak.bytes undefined when nobody knows, as of a run that could not be started.
   * @param peak.isLimit whether the run was ended because it wanted more than it may take. What it took tells
   *   nothing of other checks then.
   */
  end(runId: string, peak: { readonly bytes: number | undefined; readonly isLimit: boolean }): void {
    const run = this.#running.get(runId);
    this.#running.delete(runId);
    // What it took may be free now.
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    if (run?.checkId === undefined || !peak.bytes) return;
    const atMs = this.#clock.monotonicMs();
    const { bytes, isLimit } = peak;
    this.#peaks.set(run.checkId, { typeName: run.type.name, bytes, isLimit, atMs });
  }

  /** What there is room for in addition to what runs, of types that all may come. */
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
      // Whichever of them come, that many fit.
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

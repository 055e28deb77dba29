import type { Clock } from '@picket/lib/clock.ts';
import type { StopSignal } from '../../run/run-stop.ts';
import type { ThreadLoad } from '../lag/thread-load.ts';
import type { GateStats } from './gate-stats.ts';

/** No run waits longer than this, whatever the load (as long as the thread runs at all). */
export const maxGateWaitMs = 5000;
/**
 * Gap between two starts, relative to the CPU time of a whole run. That is about twice the cost of a start alone; a gap
 * of twice the whole run halved the agent's throughput (docs/adr/0007).
 */
const gapPerCpu = 1;
const costBoundsMs = { first: 1, least: 0.05, most: 10 };
/** A late timer makes up for this much of its delay, so that its coarse resolution does not slow down starts. */
const maxCreditMs = 1.5;
const stepMs = 1;
const recheckMs = 20;
/** Relative variation of each gap: probes of equal duration must not synchronize. */
const jitter = 0.25;
const learning = { minStarts: 8, minMs: 50, maxMs: 2000, weight: 0.3, maxChange: 4 };

interface Waiting {
  readonly checkType: string;
  readonly sinceMs: number;
  readonly settle: (isAdmitted: boolean) => void;
}

/**
 * Holds runs on a probe thread until they may start, so that the thread never delays its own probes: a hundred probes
 * started at once delay each other far more than a network does (docs/adr/0007). Runs pass in order of arrival:
 *
 * - If no run is active, a run starts at once, without a timer.
 * - Otherwise it starts one gap after the previous one: the CPU time that runs of that one's type cost this thread,
 *   learnt from the thread's CPU usage, with jitter.
 * - While the event loop is too busy (see ThreadLoad) and a run is active, no run starts.
 * - A run that has waited for 5 seconds starts anyway.
 *
 * Waiting here is part of a run's start delay, never of a phase, and its deadline has not started yet.
 */
export class AdmissionGate {
  readonly #clock: Clock;
  readonly #load: ThreadLoad;
  readonly #board: GateStats | undefined;
  readonly #random: () => number;
  readonly #waiting = new Set<Waiting>();
  readonly #costsMs = new Map<string, number>();
  #startsSince = new Map<string, number>();
  #startCount = 0;
  #measuredAtMs: number;
  #measuredCpuMs: number;
  #runningCount = 0;
  #openAtMs = 0;
  #isWatching = false;

  constructor(options: {
    readonly clock: Clock;
    readonly load: ThreadLoad;
    /** Publishes the state to the main thread. */
    readonly board?: GateStats | undefined;
    /** Random numbers in [0, 1) for the jitter. */
    readonly random?: (() => number) | undefined;
  }) {
    this.#clock = options.clock;
    this.#load = options.load;
    this.#board = options.board;
    this.#random = options.random ?? Math.random;
    this.#measuredAtMs = this.#clock.monotonicMs();
    this.#measuredCpuMs = this.#load.cpuMs();
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Estimated cost of a run of a type on this thread, in CPU milliseconds. */
  costMs(checkType: string): number {
    return this.#costsMs.get(checkType) ?? costBoundsMs.first;
  }

  /**
   * Admits a run, now (true) or later. The caller must call `leave` when the run has ended.
   *
   * @returns false if the signal aborted, or `withdrawAll` was called, before the run could start.
   */
  enter(checkType: string, signal: StopSignal): boolean | Promise<boolean> {
    if (signal.aborted) return false;
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiting.size === 0 && this.#mayStart(nowMs, nowMs)) {
      this.#start(checkType, nowMs, nowMs);
      return true;
    }
    return new Promise((resolve) => {
      const waiting: Waiting = {
        checkType,
        sinceMs: nowMs,
        settle: (isAdmitted) => {
          signal.removeEventListener('abort', abort);
          this.#waiting.delete(waiting);
          this.#show();
          resolve(isAdmitted);
        },
      };
      const abort = () => waiting.settle(false);
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(waiting);
      this.#show();
      if (!this.#isWatching) void this.#watch();
    });
  }

  /** Called when an admitted run has ended. */
  leave(): void {
    this.#runningCount -= 1;
    if (this.#runningCount === 0) this.#admit();
  }

  /** Rejects all waiting runs. */
  withdrawAll(): void {
    for (const waiting of [...this.#waiting]) waiting.settle(false);
  }

  /** Loops while runs are waiting. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#waiting.size > 0) {
      const untilOpenMs = this.#openAtMs - this.#clock.monotonicMs();
      await this.#clock.sleep(
        untilOpenMs > 0 ? Math.min(Math.max(stepMs, untilOpenMs), recheckMs) : recheckMs,
      );
      this.#admit();
    }
    this.#isWatching = false;
  }

  #admit(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const waiting of this.#waiting) {
      if (!this.#mayStart(nowMs, waiting.sinceMs)) return;
      this.#start(waiting.checkType, nowMs, Math.max(this.#openAtMs, nowMs - maxCreditMs));
      waiting.settle(true);
    }
  }

  #mayStart(nowMs: number, sinceMs: number): boolean {
    if (this.#runningCount === 0 || nowMs - sinceMs >= maxGateWaitMs) return true;
    return nowMs >= this.#openAtMs && !this.#load.isBusy(nowMs);
  }

  /** @param gapFromMs start of the gap before the next run. */
  #start(checkType: string, nowMs: number, gapFromMs: number): void {
    this.#runningCount += 1;
    this.#startCount += 1;
    this.#startsSince.set(checkType, (this.#startsSince.get(checkType) ?? 0) + 1);
    const tookMs = nowMs - this.#measuredAtMs;
    if (this.#startCount > learning.minStarts && tookMs >= learning.minMs) this.#learn(nowMs, tookMs);
    const gapMs = gapPerCpu * this.costMs(checkType) * (1 + jitter * (2 * this.#random() - 1));
    this.#openAtMs = gapFromMs + gapMs;
  }

  /**
   * Compares the CPU time that the thread used since the last measurement with the expected cost of the runs that
   * started, and adjusts the costs of their types, each by its share.
   */
  #learn(nowMs: number, tookMs: number): void {
    const cpuMs = this.#load.cpuMs();
    const costs = [...this.#startsSince].map(([type, count]) => ({ type, allMs: count * this.costMs(type) }));
    const expectedMs = costs.reduce((sum, { allMs }) => sum + allMs, 0);
    // Over a long period the thread's other work would be attributed to few runs.
    if (tookMs <= learning.maxMs) {
      const { maxChange } = learning;
      const factor = clamp((cpuMs - this.#measuredCpuMs) / expectedMs, 1 / maxChange, maxChange);
      for (const { type, allMs } of costs) {
        const changed = this.costMs(type) * (1 + learning.weight * (allMs / expectedMs) * (factor - 1));
        this.#costsMs.set(type, clamp(changed, costBoundsMs.least, costBoundsMs.most));
      }
    }
    this.#measuredAtMs = nowMs;
    this.#measuredCpuMs = cpuMs;
    this.#startCount = 0;
    this.#startsSince = new Map();
  }

  #show(): void {
    if (!this.#board) return;
    const [oldest] = this.#waiting;
    this.#board.show(this.#waiting.size, oldest?.sinceMs ?? 0);
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

import { performance } from 'node:perf_hooks';

/** With a higher utilization, an event loop is too busy for another run. */
const busyUtilization = 0.6;
const windowMs = 1000;
/** A loop that was free for this long counts as free. */
const recoveryMs = 150;
const sampleEveryMs = 50;

/** Load figures that the runtime reports of a thread; the real one is `ownThread`. */
export interface ThreadGauge {
  /** CPU time used by the thread, in milliseconds. */
  cpuMs(): number;
  /** Active time of its event loop since it started, in milliseconds. */
  activeMs(): number;
}

/** The calling thread. */
export const ownThread: ThreadGauge = {
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  activeMs: () => performance.eventLoopUtilization().active,
};

interface Sample {
  readonly atMs: number;
  readonly activeMs: number;
}

/**
 * Load of a thread. Its event loop counts as busy if its utilization exceeds 60 % over both about the last second and
 * the last 150 ms: it becomes busy slowly and recovers quickly.
 */
export class ThreadLoad {
  readonly #gauge: ThreadGauge;
  #samples: Sample[] = [];

  constructor(gauge: ThreadGauge) {
    this.#gauge = gauge;
  }

  cpuMs(): number {
    return this.#gauge.cpuMs();
  }

  isBusy(nowMs: number): boolean {
    const now: Sample = { atMs: nowMs, activeMs: this.#gauge.activeMs() };
    const samples = this.#samples;
    const newest = samples.at(-1);
    if (!newest || nowMs - newest.atMs >= sampleEveryMs) samples.push(now);
    // Keep one sample older than the window, as its start.
    while (samples[1] && nowMs - samples[1].atMs >= windowMs) samples.shift();
    const recent = samples.findLast(({ atMs }) => nowMs - atMs >= recoveryMs);
    const [first] = samples;
    if (!recent || !first) return false;
    return utilization(first, now) > busyUtilization && utilization(recent, now) > busyUtilization;
  }
}

function utilization(from: Sample, to: Sample): number {
  return (to.activeMs - from.activeMs) / (to.atMs - from.atMs);
}

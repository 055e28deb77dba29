import { performance } from 'node:perf_hooks';

/** Above this part of its time an event loop is too busy for another run. */
const busyUtilization = 0.6;
const windowMs = 1000;
/** A loop that was free this long is free, whatever was before. */
const recoveryMs = 150;
const sampleEveryMs = 50;

/** What the runtime says of a thread; the real one is `ownThread`. */
export interface ThreadGauge {
  /** CPU time the thread has used, in milliseconds. */
  cpuMs(): number;
  /** How long its event loop has been at work since it began, in milliseconds. */
  activeMs(): number;
}

/** The thread that calls. */
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
 * How busy a thread is. Its event loop counts as busy when it was at work for more than 60 % of about the
 * last second and of the last 150 ms: it takes a while to become busy, and it recovers quickly.
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
    // One sample that is older than the window is kept: the window begins there.
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

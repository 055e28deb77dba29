import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { UnhealthyKind } from '@picket/protocol/locations/location-event.ts';

/** The health of one part of the location; `unknown` if it cannot be determined. */
export type SelfCheckOutcome =
  | { readonly state: 'healthy' | 'unknown' }
  | { readonly state: 'unhealthy'; readonly evidence: string };

/** A health check of one part of the location. */
export interface SelfCheck {
  readonly kind: UnhealthyKind;
  /** Never rejects because of its findings; takes a few seconds at most. */
  look(): Promise<SelfCheckOutcome> | SelfCheckOutcome;
  /** Releases its resources. */
  stop?(): void;
}

export const healthy: SelfCheckOutcome = { state: 'healthy' };
export const unknown: SelfCheckOutcome = { state: 'unknown' };
export const unhealthy = (evidence: string): SelfCheckOutcome => ({ state: 'unhealthy', evidence });

/** The main thread only coordinates: if a tenth of its ticks is later than this, leases are at risk. */
const maxLoopDelayMs = 1000;
/** Every tick wakes the main thread, which has little else to do. */
const loopTickMs = 250;
const memoryReserve = 0.05;
const descriptorReserve = 0.05;
const serviceAwayMs = 30_000;

/** Measures the delay of the main thread. */
export function eventLoopCheck(): SelfCheck {
  const delay = monitorEventLoopDelay({ resolution: loopTickMs });
  delay.enable();
  return {
    kind: 'event-loop',
    look() {
      const lateMs = delay.percentile(90) / 1e6 - loopTickMs;
      delay.reset();
      return lateMs > maxLoopDelayMs
        ? unhealthy(`the main thread was up to ${Math.round(lateMs)} ms late: it lacks processor time`)
        : healthy;
    },
    stop() {
      delay.disable();
    },
  };
}

/** Whether the process approaches its memory limit. */
export function memoryCheck(): SelfCheck {
  return {
    kind: 'memory',
    look() {
      const limitBytes = process.constrainedMemory();
      // Without a limit the value exceeds any real memory size.
      if (limitBytes === 0 || limitBytes > 2 ** 50) return unknown;
      const freeBytes = process.availableMemory();
      return freeBytes < limitBytes * memoryReserve
        ? unhealthy(`${megabytes(freeBytes)} MB of ${megabytes(limitBytes)} MB of memory are free`)
        : healthy;
    },
  };
}

/**
 * Whether the process runs out of file descriptors.
 *
 * @param self what the kernel says about this process.
 */
export function descriptorCheck(self = '/proc/self'): SelfCheck {
  return {
    kind: 'descriptors',
    look() {
      try {
        const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`${self}/limits`, 'utf8'))?.[1]);
        const open = readdirSync(`${self}/fd`).length;
        if (!Number.isFinite(limit)) return unknown;
        return open > limit * (1 - descriptorReserve)
          ? unhealthy(`${open} of ${limit} file descriptors are open`)
          : healthy;
      } catch (thrown) {
        // The exhausted resource prevents its own check.
        if (errorCodeOf(thrown) === 'EMFILE') return unhealthy('no file descriptor is left');
        // Such as without /proc, or with one that shows less.
        if (errorCodeOf(thrown) !== undefined) return unknown;
        throw thrown;
      }
    },
  };
}

/** Whether results can be kept on disk. */
export function diskCheck(problem: () => string | undefined): SelfCheck {
  return {
    kind: 'disk',
    look() {
      const found = problem();
      return found === undefined ? healthy : unhealthy(`results are kept in memory only: ${found}`);
    },
  };
}

/** Whether the service is reachable. */
export function serviceCheck(
  connection: () => { readonly awayMs: number | undefined; readonly problem: string },
): SelfCheck {
  return {
    kind: 'service',
    look() {
      const { awayMs, problem } = connection();
      if (awayMs === undefined) return unknown;
      return awayMs > serviceAwayMs ? unhealthy(problem) : healthy;
    },
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

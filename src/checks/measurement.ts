import type { ProbeMeasurement } from '../probes/kernel-thread/measurement.ts';
import type { Measurement } from './check-type.ts';
import { toMicroseconds } from './milliseconds.ts';

/** How the times of a run came about, from what its probe says. */
export function measurementOf({ clock, overheadMs, lagMs }: ProbeMeasurement): Measurement {
  return { clock, overheadMs: toMicroseconds(overheadMs), lagMs: toMicroseconds(lagMs) };
}

import type { Measurement } from './check-type.ts';
import { toMicroseconds } from './milliseconds.ts';

/** How the times of a run came about, from what its probe says. */
export function measurementOf({ clock, overheadMs, lagMs }: Measurement): Measurement {
  return { clock, overheadMs: toMicroseconds(overheadMs), lagMs: toMicroseconds(lagMs) };
}

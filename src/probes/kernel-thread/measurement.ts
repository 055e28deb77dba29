import type { StampClock } from './socket-watch.ts';

/** How the times of a probe came about. */
export interface ProbeMeasurement {
  /** The kernel's stamps, or, if only for a part of them, those of events. */
  readonly clock: StampClock;
  /** What this process itself needed before, between and after the phases, in milliseconds. */
  readonly overheadMs: number;
  /** How much later than it happened a step was noticed, at most, in milliseconds. */
  readonly lagMs: number;
}

/** How the times of several steps in a row came about, with the own time that was left over between them. */
export function joinedMeasurement(
  steps: readonly Omit<ProbeMeasurement, 'overheadMs'>[],
  overheadMs: number,
): ProbeMeasurement {
  return {
    clock: steps.some(({ clock }) => clock === 'event') ? 'event' : 'kernel',
    overheadMs: Math.max(0, overheadMs),
    lagMs: steps.reduce((most, { lagMs }) => Math.max(most, lagMs), 0),
  };
}

import type { Measurement } from './check-type.ts';
import type { Failure } from './failure.ts';

/** The verdict of an outcome whose operation failed: there is nothing to judge. */
export function unjudged(failed: Failure) {
  return { failure: failed, isDegraded: false, overMaxResponseTime: false, errorMessages: [failed.message] };
}

/** How the times of a run came about, from what its probe says. */
export function measurementOf({
  clock,
  overheadMs,
  lagMs,
  doubtMs,
  waitedMs,
  workMs,
}: Measurement): Measurement {
  return {
    clock,
    overheadMs: toMicroseconds(overheadMs),
    lagMs: toMicroseconds(lagMs),
    waitedMs,
    ...(doubtMs !== undefined && { doubtMs: toMicroseconds(doubtMs) }),
    ...(workMs !== undefined && { workMs: toMicroseconds(workMs) }),
  };
}

/**
 * The same for a run that went on for a diagnosis: it had nothing to do any more that the agent could have been late
 * for.
 */
export function withDiagnosisTime<Part extends { readonly measurement: Measurement }>(
  measured: Part,
  diagnosisMs: number,
): Part {
  if (diagnosisMs === 0) return measured;
  const { measurement } = measured;
  return {
    ...measured,
    measurement: { ...measurement, waitedMs: (measurement.waitedMs ?? 0) + diagnosisMs },
  };
}

/** Milliseconds to the microsecond: more digits are noise that every result would store. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** A copy of some times, all in milliseconds, each to the microsecond. */
export function timesToMicroseconds<Times extends { [name in keyof Times]: number }>(times: Times): Times {
  const copy: Times = { ...times };
  for (const name in copy) copy[name] = toMicroseconds(copy[name]) as Times[typeof name];
  return copy;
}

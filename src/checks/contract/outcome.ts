import type { Failure } from './failure.ts';
import type { RunContext } from './run-context.ts';

/** How a run's times were measured, for runs that measured something. */
export interface Measurement {
  /**
   * Source of the timestamps: the kernel, events in a thread that may have been late, or a process of the run's own,
   * which no thread of the agent can delay.
   */
  readonly clock: 'kernel' | 'event' | 'process';
  /**
   * Time that the agent itself spent between the phases, in milliseconds; part of no phase and not of the response
   * time.
   */
  readonly overheadMs: number;
  /** Longest delay between the kernel's timestamp of a step and the thread's reaction, in milliseconds. */
  readonly lagMs: number;
  /**
   * Possible total error of the kernel's timestamps, in milliseconds: how long the kernel kept threads from running
   * while they were to take one. Absent if unknown.
   */
  readonly doubtMs?: number | undefined;
  /** Known time for which the run only waited for the peer, in milliseconds. */
  readonly waitedMs?: number | undefined;
  /** CPU milliseconds that the thread spent on data of the target; a delay due to that work is caused by the target. */
  readonly workMs?: number | undefined;
}

/** Result of `run()`. An unhealthy target is a returned failure with an owner; a thrown error is a bug of ours. */
export interface Outcome<Detail> {
  /** Absent if the run passed (or is only degraded). */
  readonly failure?: Failure | undefined;
  /** Duration of the measured operation in milliseconds, without set-up and system time. */
  readonly responseTimeMs: number;
  /** Over the degraded threshold; null for types without thresholds. */
  readonly isDegraded: boolean | null;
  /** Over the maximum response time; null for types without thresholds. */
  readonly overMaxResponseTime: boolean | null;
  /** Raw messages, one for each problem; they become error groups. */
  readonly errorMessages: readonly string[];
  /**
   * By how many milliseconds the response time exceeds the limit of the better verdict; only if the response time is
   * the only problem. `judge` computes it.
   */
  readonly timeExcessMs?: number | undefined;
  readonly measurement?: Measurement | undefined;
  /** First expiry date in the target's certificate chain, in epoch milliseconds; absent without TLS. */
  readonly certificateExpiresAt?: number | undefined;
  /** Peak memory use of the run's processes, in bytes; for runs that have processes. */
  readonly peakMemoryBytes?: number | undefined;
  /** Values that became secret during the run; like all secrets they must not leave the agent. */
  readonly secrets?: readonly string[] | undefined;
  readonly detail: Detail;
}

export type Runner<Spec, Detail> = (spec: Spec, context: RunContext) => Promise<Outcome<Detail>>;

/** A runner that works on this host. */
export interface LoadedRunner<Spec, Detail> {
  readonly run: Runner<Spec, Detail>;
  /** The backend that it chose among several, in a few words; absent if there is only one. */
  readonly backend?: string | undefined;
}

/** Returns the verdict of an outcome whose operation failed: there is nothing to judge. */
export function unjudged(failed: Failure) {
  return { failure: failed, isDegraded: false, overMaxResponseTime: false, errorMessages: [failed.message] };
}

/** Extracts the measurement from the result of a probe, with times rounded to the microsecond. */
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
 * Adds the time of a diagnosis to the time that the run only waited: a delay of the agent could not affect the run
 * then.
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

/** Rounds milliseconds to the microsecond: more digits are noise that every result would store. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** Returns a copy of some times in milliseconds, each rounded to the microsecond. */
export function timesToMicroseconds<Times extends { [name in keyof Times]: number }>(times: Times): Times {
  const copy: Times = { ...times };
  for (const name in copy) copy[name] = toMicroseconds(copy[name]) as Times[typeof name];
  return copy;
}

import type { Failure } from './failure.ts';
import type { RunContext } from './run-context.ts';

/** How the times of a run came about, for runs that measured something. */
export interface Measurement {
  /**
   * Whose stamps the times are made of: the kernel's, those of events in a thread that may have been late, or
   * those of a process of the run's own, which no thread of the agent can make late.
   */
  readonly clock: 'kernel' | 'event' | 'process';
  /**
   * What the agent itself spent between the phases, in milliseconds; part of no phase and not of the response
   * time.
   */
  readonly overheadMs: number;
  /** How much later than the kernel the thread noticed a step, at most, in milliseconds. */
  readonly lagMs: number;
  /**
   * By how much the kernel's stamps may be off in all, in milliseconds: what the kernel says of threads that were kept from
   * running when they were to take one. Absent where nothing is known.
   */
  readonly doubtMs?: number | undefined;
  /**
   * For how long the run had nothing to do but to wait for the other side, as far as that is known, in
   * milliseconds.
   */
  readonly waitedMs?: number | undefined;
  /**
   * What the thread has worked on what the target sent, in CPU milliseconds; where it was late because of
   * that, the target was the cause.
   */
  readonly workMs?: number | undefined;
}

/**
 * What `run()` returns. An unhealthy target is a returned failure with an owner; a throw means that we are
 * broken.
 */
export interface Outcome<Detail> {
  /** Absent when the run passed (or is only degraded). */
  readonly failure?: Failure | undefined;
  /** The measured operation in milliseconds, without set-up and system time. */
  readonly responseTimeMs: number;
  /** Over the degraded threshold; null for types without thresholds. */
  readonly isDegraded: boolean | null;
  /** Over the maximum response time; null for types without thresholds. */
  readonly overMaxResponseTime: boolean | null;
  /** Raw messages, one for each thing that went wrong; they become error groups. */
  readonly errorMessages: readonly string[];
  /**
   * By how many milliseconds the response time would have had to be shorter for the better verdict; only
   * where nothing but the response time stands against it. `judge` computes it.
   */
  readonly timeExcessMs?: number | undefined;
  readonly measurement?: Measurement | undefined;
  /** When the first certificate of the target's chain expires, in epoch milliseconds; absent without TLS. */
  readonly certificateExpiresAt?: number | undefined;
  /** What the processes of the run took of the host's memory at most, in bytes; for runs that have some. */
  readonly peakMemoryBytes?: number | undefined;
  /** Values that turned out to be secret only while the run went on; like all secrets they must not leave. */
  readonly secrets?: readonly string[] | undefined;
  readonly detail: Detail;
}

export type Runner<Spec, Detail> = (spec: Spec, context: RunContext) => Promise<Outcome<Detail>>;

/** A runner that works on this host. */
export interface LoadedRunner<Spec, Detail> {
  readonly run: Runner<Spec, Detail>;
  /** Which of several ways to do its work it found, in a few words; absent where there is only one. */
  readonly backend?: string | undefined;
}

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

import type { Failure } from '../contract/failure.ts';
import type { Measurement, Outcome, Runner } from '../contract/outcome.ts';
import { unjudged, withDiagnosisTime } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import type { Assertion, EvaluatedAssertion } from '../judging/assertion.ts';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { templateFailure } from '../judging/filled.ts';
import { judge } from '../judging/verdict.ts';
import type { Diagnosed } from './diagnosis.ts';

/** Means and time limit of a probe. */
export type ProbeControls = Pick<RunContext, 'resolver' | 'egress' | 'signal' | 'timeoutMs'>;

/** A run with its templates filled in. */
export interface ProbeRun<Spec, Prepared> {
  readonly spec: Spec;
  readonly context: RunContext;
  readonly prepared: Prepared;
  readonly controls: ProbeControls;
  /** Start of the run, by `performance.now()`. */
  readonly startMs: number;
}

/** Limits of the response time; null: no limit. */
export interface TimeLimits {
  readonly degradedResponseTime: number | null;
  readonly maxResponseTime: number | null;
}

/** For an operation whose time says nothing about the target. */
export const noLimits: TimeLimits = { degradedResponseTime: null, maxResponseTime: null };

interface Read<Own> {
  readonly measured: {
    readonly responseTimeMs: number;
    readonly measurement: Measurement;
    readonly certificateExpiresAt?: number;
  };
  /** Fields of the detail in addition to those of all probes. */
  readonly detail: Own;
  /** If absent, the message of the failure. */
  readonly requestError?: string | null | undefined;
  /** Failures after the operation: they fail a run that has no other failure. */
  readonly furtherFailures?: readonly Failure[] | undefined;
}

/** A result that cannot be judged. */
interface Broken<Own> extends Read<Own> {
  readonly failure: Failure;
}

interface Judgeable<Own> extends Read<Own> {
  readonly failure?: undefined;
  readonly assertions: readonly Assertion[];
  readonly sources: Sources;
  readonly limits: TimeLimits;
  /** Why the operation itself counts as failed. */
  readonly operationFailure?: Failure | undefined;
  /** Whether assertions are shown but not judged, because the operation has failed anyway. */
  readonly areAssertionsShownOnly?: boolean;
  /** Reasons other than the time why the run is degraded, for the log; absent if only the time can make it degraded. */
  readonly degradedReasons?: readonly string[] | undefined;
}

/** A check type's interpretation of its probe's result. */
export type Reading<Own> = Broken<Own> | Judgeable<Own>;

/** Fields in the details of all probes; `Found` is the evidence. */
interface CommonDetail {
  readonly assertions: EvaluatedAssertion[];
  readonly requestError: string | null;
  readonly jobLog: ReturnType<typeof jobLogOf>;
}

/** The type-specific part of a probe's run; `probeRunner` has the common part. */
export interface ProbeType<Spec, Prepared extends object, Result, Own extends object, Found extends object> {
  /** Fills in the templates, and creates the request of the probe. @throws TemplateError */
  prepare(spec: Spec, context: RunContext): Prepared | { readonly failure: Failure };
  /** The detail of a run that sent nothing. */
  unsent(spec: Spec): Own & Found;
  /** Time limit of the probe in the check, in milliseconds; if absent, that of the run. */
  timeoutMs?(spec: Spec): number;
  hold(run: ProbeRun<Spec, Prepared>): Promise<Diagnosed<Result, Found>>;
  read(run: ProbeRun<Spec, Prepared>, result: Result): Reading<Own>;
}

/** Creates a runner that prepares and runs the probe, diagnoses network failures, and judges the result. */
export function probeRunner<Spec, Prepared extends object, Result, Own extends object, Found extends object>(
  type: ProbeType<Spec, Prepared, Result, Own, Found>,
): Runner<Spec, Own & CommonDetail & Found> {
  return async (spec, context) => {
    const startMs = performance.now();
    const prepared = preparedBy(type, spec, context);
    if ('failure' in prepared) return unsentOutcome(type.unsent(spec), prepared.failure, context);
    const controls = controlsOf(context, startMs, type.timeoutMs?.(spec));
    const run = { spec, context, prepared, controls, startMs };
    const diagnosed = await type.hold(run);
    return conclude(type.read(run, diagnosed.result), diagnosed, context);
  };
}

function preparedBy<Spec, Prepared extends object>(
  type: Pick<ProbeType<Spec, Prepared, never, never, never>, 'prepare'>,
  spec: Spec,
  context: RunContext,
): Prepared | { readonly failure: Failure } {
  try {
    return type.prepare(spec, context);
  } catch (thrown) {
    return templateFailure(thrown);
  }
}

/** Returns the means of the next probe: the run's, with the remaining time. */
export function controlsOf(context: RunContext, startMs: number, ownTimeoutMs = Infinity): ProbeControls {
  const { resolver, egress, signal, timeoutMs } = context;
  const leftMs = timeoutMs - (performance.now() - startMs);
  return { resolver, egress, signal, timeoutMs: Math.min(leftMs, ownTimeoutMs) };
}

/**
 * Returns the outcome of a run that sent nothing.
 *
 * @param requestError what is wrong with the definition; null if that is not the reason.
 */
export function unsentOutcome<Own extends object>(
  detail: Own,
  failed: Failure,
  { log }: Pick<RunContext, 'log'>,
  requestError: string | null = failed.message,
): Outcome<Own & CommonDetail> {
  return {
    ...unjudged(failed),
    responseTimeMs: 0,
    detail: { ...detail, assertions: [], requestError, jobLog: jobLogOf(log) },
  };
}

/** Judges the result of a probe. */
export function conclude<Own extends object, Found extends object>(
  reading: Reading<Own>,
  { evidence, diagnosisMs }: Pick<Diagnosed<unknown, Found>, 'evidence' | 'diagnosisMs'>,
  { log }: Pick<RunContext, 'log'>,
): Outcome<Own & CommonDetail & Found> {
  if (reading.failure) {
    const { failure: failed, furtherFailures: further = [], requestError = failed.message } = reading;
    return {
      ...unjudged(failed),
      errorMessages: [failed, ...further].map(({ message }) => message),
      ...withDiagnosisTime(reading.measured, diagnosisMs),
      detail: { ...reading.detail, assertions: [], requestError, jobLog: jobLogOf(log), ...evidence },
    };
  }
  const { detail, requestError = null, degradedReasons } = reading;
  const assertions = evaluateAssertions(reading.assertions, reading.sources);
  const verdict = judge({
    responseTimeMs: reading.measured.responseTimeMs,
    degradedResponseTime: reading.limits.degradedResponseTime,
    maxResponseTime: reading.limits.maxResponseTime,
    assertions: reading.areAssertionsShownOnly ? [] : assertions,
    operationFailure: reading.operationFailure,
    furtherFailures: reading.furtherFailures,
    isDegraded: degradedReasons !== undefined,
  });
  if (!verdict.failure) for (const reason of degradedReasons ?? []) log.write('WARN', reason);
  return {
    ...verdict,
    ...withDiagnosisTime(reading.measured, diagnosisMs),
    detail: { ...detail, assertions, requestError, jobLog: jobLogOf(log), ...evidence },
  };
}

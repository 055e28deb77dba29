import { probeUdp, type UdpProbeResult } from '../../probes/udp/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import type { Outcome, Runner } from '../contract/outcome.ts';
import {
  measurementOf,
  timesToMicroseconds,
  toMicroseconds,
  unjudged,
  withDiagnosisTime,
} from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { withDiagnosis } from '../evidence/diagnosis.ts';
import { type Evidence, noEvidence } from '../evidence/evidence.ts';
import { connectionObstacle, pinnedResolver } from '../evidence/repeat-connection.ts';
import { cutText, maxStoredBytes } from '../http/body.ts';
import type { EvaluatedAssertion } from '../judging/assertion.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { UdpCourse } from './course.ts';
import type { UdpDetail } from './detail.ts';
import { answerText, type PreparedDatagram, prepareDatagram } from './request.ts';
import type { UdpSpec } from './spec.ts';

const noBytes = Buffer.alloc(0);

/** Runs a UDP monitor: sends its datagrams one after the other until each is answered, and judges what came last. */
export const runUdp: Runner<UdpSpec, UdpDetail> = async (spec, context) => {
  const startMs = performance.now();
  const ready = prepareDatagram(spec.request, context.variables);
  if ('failure' in ready) return unsentOutcome(spec, context, ready.failure);
  const { prepared } = ready;
  const { port, ipFamily, attempts, attemptTimeoutMs } = spec.request;
  const family = wantedFamily(ipFamily, context.log);
  const { hostname } = prepared;
  const course = new UdpCourse(spec.request, context.variables);
  const request = { hostname, port, family, attempts, attemptTimeoutMs };
  const controls = {
    resolver: context.resolver,
    egress: context.egress,
    signal: context.signal,
    timeoutMs: context.timeoutMs - (performance.now() - startMs),
  };
  const { result, evidence, diagnosisMs } = await withDiagnosis<UdpProbeResult>(
    {
      hold: (onAttempt) => probeUdp({ ...request, exchanges: course.exchanges }, { ...controls, onAttempt }),
      failureOf: (found) => unwelcomeFailure(spec, found),
      obstacleTo: ({ error }) => connectionObstacle({}, error),
      isSeenHanging: false,
      repetition: (peer) => ({
        what: 'query',
        async run(given) {
          const resolver = pinnedResolver(controls.resolver, peer);
          const { exchanges } = new UdpCourse(spec.request, context.variables);
          const once = { ...request, exchanges, attempts: 1 };
          const again = await probeUdp(once, { ...controls, ...given, resolver });
          return again.error
            ? `failed again: ${again.error.message}`
            : `was answered this time, with ${again.answer?.length ?? 0} bytes`;
        },
      }),
    },
    controls,
    context,
  );
  logFamily(hostname, result.address, family, context.log);
  const responseTimeMs = toMicroseconds(result.dnsMs + result.waitMs);
  const measured = withDiagnosisTime(
    { measurement: measurementOf(result.measurement), responseTimeMs },
    diagnosisMs,
  );
  const failed = course.failure(result.outcomes, unwelcomeFailure(spec, result));
  const detail = (assertions: EvaluatedAssertion[]) =>
    detailOf(spec, context, { prepared, result, course, assertions, evidence, failed });
  if (failed) return { ...unjudged(failed), ...measured, detail: detail([]) };
  const assertions = evaluateAssertions(prepared.assertions, {
    RESPONSE_DATA: () => ({
      kind: 'text',
      text: answerText(result.answer ?? noBytes, spec.request.dataFormat),
    }),
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
  });
  const isAnswered = result.answer !== undefined;
  const verdict = judge({
    responseTimeMs,
    // Silence that should be has no time that could be too long.
    degradedResponseTime: isAnswered ? spec.degradedResponseTime : null,
    maxResponseTime: isAnswered ? spec.maxResponseTime : null,
    assertions,
    operationFailure:
      spec.shouldFail && isAnswered
        ? failure('REPLY_UNEXPECTED', `Port ${port} answered, which it should not`)
        : undefined,
  });
  return { ...verdict, ...measured, detail: detail(assertions) };
};

/** Why there was no answer, unless that is what the check wants. */
function unwelcomeFailure({ shouldFail }: UdpSpec, { error }: UdpProbeResult): Failure | undefined {
  if (!error) return undefined;
  const failed = probeFailure(error);
  return shouldFail && failed.owner === 'target' && error.phase === 'firstByte' ? undefined : failed;
}

/** The definition could not be made into a datagram. */
function unsentOutcome(spec: UdpSpec, { log }: RunContext, failed: Failure): Outcome<UdpDetail> {
  return {
    ...unjudged(failed),
    responseTimeMs: 0,
    detail: {
      assertions: [],
      request: requestOf(spec, spec.request.hostname, spec.request.data),
      response: null,
      requestError: failed.message,
      jobLog: jobLogOf(log),
      ...noEvidence,
    },
  };
}

function requestOf({ request }: UdpSpec, hostname: string, text: string): UdpDetail['request'] {
  const { port, dataFormat, ipFamily, attempts } = request;
  return { hostname, port, data: cutText(text).body, dataFormat, ipFamily, attempts };
}

function detailOf(
  spec: UdpSpec,
  { log }: RunContext,
  run: {
    readonly prepared: PreparedDatagram;
    readonly result: UdpProbeResult;
    readonly course: UdpCourse;
    readonly assertions: EvaluatedAssertion[];
    readonly evidence: Evidence;
    readonly failed: Failure | undefined;
  },
): UdpDetail {
  const { prepared, result, course, assertions, evidence, failed } = run;
  const { answer, dnsMs, waitMs, sentCount, address, outcomes } = result;
  const isCut = answer !== undefined && answer.length > maxStoredBytes;
  const stored =
    answer &&
    cutText(answerText(isCut ? answer.subarray(0, maxStoredBytes) : answer, spec.request.dataFormat), isCut);
  return {
    assertions,
    request: requestOf(spec, prepared.hostname, prepared.text),
    ...(spec.request.steps.length > 0 && { steps: course.detail(outcomes) }),
    response:
      sentCount === 0
        ? null
        : {
            ...(stored && { data: stored.body }),
            sizeBytes: answer?.length ?? null,
            truncated: isCut || (stored?.isCut ?? false),
            sentCount,
            timingPhases: timesToMicroseconds({ dns: dnsMs, wait: waitMs, total: dnsMs + waitMs }),
            ipAddress: address,
            ipFamily: familyName(address),
          },
    requestError: (failed?.message ?? result.error?.message) || null,
    jobLog: jobLogOf(log),
    ...evidence,
  };
}

import { probeUdp, type UdpProbeResult } from '@picket/probes/udp/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import { measurementOf, timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { cutText, maxStoredBytes } from '../http/body.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withDiagnosis } from '../runner/diagnosis.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { connectionObstacle, pinnedResolver } from '../runner/repeat-connection.ts';
import type { UdpDetail } from './detail.ts';
import { answerText, prepareDatagram } from './request.ts';
import type { UdpSpec } from './spec.ts';
import { DatagramSteps } from './steps.ts';

const noBytes = Buffer.alloc(0);

type Run = ProbeRun<UdpSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<UdpDetail, 'request' | 'response' | 'steps'>;

/** Runs a UDP monitor: sends each datagram until a reply arrives, then the next, and judges the last reply. */
export const runUdp = probeRunner({
  prepare,
  unsent: (spec) => ({
    request: requestOf(spec, spec.request.hostname, spec.request.data),
    response: null,
    ...noEvidence,
  }),
  hold: ({ spec, prepared: { request, steps }, controls, context }: Run) =>
    withDiagnosis<UdpProbeResult>(
      {
        hold: (onAttempt) => probeUdp({ ...request, exchanges: steps.exchanges }, { ...controls, onAttempt }),
        failureOf: (found) => unwelcomeFailure(spec, found),
        obstacleTo: ({ error }) => connectionObstacle({}, error),
        isSeenHanging: false,
        repetition: (peer) => ({
          what: 'query',
          async run(given) {
            const resolver = pinnedResolver(controls.resolver, peer);
            const { exchanges } = new DatagramSteps(spec.request, context.variables);
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
    ),
  read,
});

function prepare(spec: UdpSpec, { variables, log }: RunContext) {
  const ready = prepareDatagram(spec.request, variables);
  if ('failure' in ready) return ready;
  const { hostname } = ready;
  const { port, ipFamily, attempts, attemptTimeoutMs } = spec.request;
  const request = { hostname, port, family: wantedFamily(ipFamily, log), attempts, attemptTimeoutMs };
  return { ...ready, request, steps: new DatagramSteps(spec.request, variables) };
}

/** Returns why there was no reply, unless the check expects that. */
function unwelcomeFailure({ shouldFail }: UdpSpec, { error }: UdpProbeResult): Failure | undefined {
  if (!error) return undefined;
  const failed = probeFailure(error);
  return shouldFail && failed.owner === 'target' && error.phase === 'firstByte' ? undefined : failed;
}

function read({ spec, prepared, context }: Run, result: UdpProbeResult): Reading<OwnDetail> {
  const { request, steps, assertions } = prepared;
  logFamily(request.hostname, result.address, request.family, context.log);
  const responseTimeMs = toMicroseconds(result.dnsMs + result.waitMs);
  const measured = { measurement: measurementOf(result.measurement), responseTimeMs };
  const detail = detailOf(spec, prepared, result);
  const failed = steps.failure(result.outcomes, unwelcomeFailure(spec, result));
  if (failed) return { failure: failed, measured, detail };
  const isAnswered = result.answer !== undefined;
  return {
    ...{ measured, detail, assertions },
    requestError: result.error?.message || null,
    sources: {
      RESPONSE_DATA: () => ({
        kind: 'text',
        text: answerText(result.answer ?? noBytes, spec.request.dataFormat),
      }),
      RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    },
    // An expected silence has no response time to limit.
    limits: isAnswered ? spec : noLimits,
    operationFailure:
      spec.shouldFail && isAnswered
        ? failure('REPLY_UNEXPECTED', `Port ${spec.request.port} answered, which it should not`)
        : undefined,
  };
}

function requestOf({ request }: UdpSpec, hostname: string, text: string): UdpDetail['request'] {
  const { port, dataFormat, ipFamily, attempts } = request;
  return { hostname, port, data: cutText(text).body, dataFormat, ipFamily, attempts };
}

function detailOf(
  spec: UdpSpec,
  { hostname, text, steps }: Run['prepared'],
  result: UdpProbeResult,
): OwnDetail {
  const { answer, dnsMs, waitMs, sentCount, address, outcomes } = result;
  const isCut = answer !== undefined && answer.length > maxStoredBytes;
  const stored =
    answer &&
    cutText(answerText(isCut ? answer.subarray(0, maxStoredBytes) : answer, spec.request.dataFormat), isCut);
  return {
    request: requestOf(spec, hostname, text),
    steps: steps.detail(outcomes),
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
  };
}

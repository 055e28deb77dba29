import { type NtpProbeResult, type NtpReading, probeNtp } from '@picket/probes/ntp/probe.ts';
import { loadWallClock, type WallClock } from '@picket/probes/ntp/wall-clock.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import { measurementOf, timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { filledAssertions, filledHostname } from '../judging/filled.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withDiagnosis } from '../runner/diagnosis.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { connectionObstacle, pinnedResolver } from '../runner/repeat-connection.ts';
import type { NtpDetail, NtpTime } from './detail.ts';
import type { NtpSpec } from './spec.ts';
import { judgeTime } from './verdict.ts';

type Run = ProbeRun<NtpSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<NtpDetail, 'request' | 'response' | 'degradedReasons'>;

/** Returns the runner of NTP monitors: it asks a server for the time, and judges the difference of the clocks. */
export async function loadRunner() {
  const clock = await loadWallClock();
  return probeRunner({
    prepare,
    unsent: (spec: NtpSpec) => ({
      request: requestOf(spec, spec.request.hostname),
      response: null,
      degradedReasons: [],
      ...noEvidence,
    }),
    hold: (run: Run) => ask(run, clock),
    read,
  });
}

function prepare({ request }: NtpSpec, { variables, log }: RunContext) {
  const named = filledHostname(request.hostname, variables);
  if ('failure' in named) return named;
  const { port, ipFamily, attempts, attemptTimeoutMs } = request;
  const assertions = filledAssertions(request.assertions, variables);
  return { ...named, port, family: wantedFamily(ipFamily, log), attempts, attemptTimeoutMs, assertions };
}

async function ask({ spec, prepared, controls, context }: Run, clock: WallClock) {
  return await withDiagnosis<NtpProbeResult>(
    {
      hold: (onAttempt) => probeNtp(prepared, { ...controls, onAttempt }, clock),
      failureOf: (found) => unwelcomeFailure(spec, found),
      obstacleTo: ({ error }) => connectionObstacle({}, error),
      isSeenHanging: false,
      repetition: (peer) => ({
        what: 'query',
        async run(given) {
          const resolver = pinnedResolver(controls.resolver, peer);
          const again = await probeNtp(
            { ...prepared, attempts: 1 },
            { ...controls, ...given, resolver },
            clock,
          );
          return again.error ? `failed again: ${again.error.message}` : 'was answered this time';
        },
      }),
    },
    controls,
    context,
  );
}

/** Returns why there was no answer, unless the check expects that. */
function unwelcomeFailure({ shouldFail }: NtpSpec, { error }: NtpProbeResult): Failure | undefined {
  if (!error) return undefined;
  const failed = probeFailure(error);
  return shouldFail && failed.owner === 'target' && error.phase === 'firstByte' ? undefined : failed;
}

function read({ spec, prepared, context }: Run, result: NtpProbeResult): Reading<OwnDetail> {
  const { hostname, family, assertions } = prepared;
  logFamily(hostname, result.address, family, context.log);
  const responseTimeMs = toMicroseconds(result.dnsMs + result.waitMs);
  const measured = { measurement: measurementOf(result.measurement), responseTimeMs };
  const time = result.reading ? timeOf(result.reading) : null;
  const detail = { ...detailOf(spec, hostname, result, time), degradedReasons: [] };
  const failed = unwelcomeFailure(spec, result);
  if (failed) return { failure: failed, measured, detail };
  const verdict = time ? judgeTime(time, spec) : { refusal: undefined };
  if (verdict.refusal && !spec.shouldFail) return { failure: verdict.refusal, measured, detail };
  const degradedReasons = spec.shouldFail ? [] : [...(verdict.degradedReasons ?? [])];
  const isTime = time !== null && !verdict.refusal;
  const nothing = () => ({ kind: 'unavailable', reason: 'the server gave no time' }) as const;
  return {
    measured,
    detail: { ...detail, degradedReasons },
    requestError: result.error?.message ?? verdict.refusal?.message ?? null,
    assertions,
    sources: {
      OFFSET: () => (isTime ? { kind: 'value', value: Math.abs(time.offsetMs ?? 0) } : nothing()),
      STRATUM: () => (time ? { kind: 'value', value: time.stratum } : nothing()),
      RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
      JSON_RESPONSE: () => (time ? { kind: 'json', document: time } : nothing()),
    },
    limits: spec.shouldFail ? noLimits : spec,
    operationFailure: spec.shouldFail && isTime ? unexpectedTime(prepared) : verdict.offsetFailure,
    ...(degradedReasons.length > 0 && { degradedReasons }),
  };
}

function unexpectedTime({ hostname }: Pick<Run['prepared'], 'hostname'>): Failure {
  return failure('REPLY_UNEXPECTED', `${hostname} gives the time, which it should not`);
}

function timeOf({ answer, offsetMs, roundTripMs, clockDoubtMs }: NtpReading): NtpTime {
  const { received: _received, transmitted: _transmitted, referenceMs, ...said } = answer;
  const isTime = answer.kissCode === null && answer.leap !== 'unsynchronized' && answer.stratum > 0;
  const { rootDelayMs, rootDispersionMs } = answer;
  const times = timesToMicroseconds({
    rootDelayMs,
    rootDispersionMs,
    offsetMs,
    roundTripMs,
    errorBoundMs: (rootDelayMs + roundTripMs) / 2 + rootDispersionMs + clockDoubtMs,
  });
  return {
    ...said,
    ...times,
    ...(!isTime && { offsetMs: null, roundTripMs: null, errorBoundMs: null }),
    referenceTime: referenceMs === null ? null : new Date(referenceMs).toISOString(),
  };
}

function requestOf({ request }: NtpSpec, hostname: string): NtpDetail['request'] {
  const { port, ipFamily, attempts } = request;
  return { hostname, port, ipFamily, attempts };
}

function detailOf(
  spec: NtpSpec,
  hostname: string,
  { dnsMs, waitMs, sentCount, ignoredCount, address }: NtpProbeResult,
  time: NtpTime | null,
): Pick<NtpDetail, 'request' | 'response'> {
  return {
    request: requestOf(spec, hostname),
    response:
      sentCount === 0
        ? null
        : {
            ...{ time, sentCount, ignoredCount },
            timingPhases: timesToMicroseconds({ dns: dnsMs, wait: waitMs, total: dnsMs + waitMs }),
            ipAddress: address,
            ipFamily: familyName(address),
          },
  };
}

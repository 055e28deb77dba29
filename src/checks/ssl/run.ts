import type { IpFamily } from '../../probes/address.ts';
import type { ProbeError } from '../../probes/connection/errors.ts';
import { startTls } from '../../probes/starttls/upgrade.ts';
import { warmUpTcp } from '../../probes/tcp/warm-up.ts';
import { probeTls, type TlsProbeRequest, type TlsProbeResult } from '../../probes/tls/probe.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome, Runner } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds, unjudged, withDiagnosisTime } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { withDiagnosis } from '../evidence/diagnosis.ts';
import { type Evidence, noEvidence } from '../evidence/evidence.ts';
import { connectionObstacle, repeatConnection } from '../evidence/repeat-connection.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { isProxied, socksProxy } from '../http/location-proxy.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { judgeBaseline } from './baseline.ts';
import type { SslDetail } from './detail.ts';
import { type PreparedHandshake, prepareHandshake } from './request.ts';
import type { SslSpec } from './spec.ts';
import { judgeHandshake } from './verdict.ts';
import { chainExpiryMs, responseOf, sourcesOf, verdictOf } from './view.ts';

/** Makes the first run of a thread as quick as the others. */
export const warmUp = warmUpTcp;

/** Runs an SSL monitor: connects, makes TLS with whatever the target speaks, and judges what that shows. */
export const runSsl: Runner<SslSpec, SslDetail> = async (spec, context) => {
  const { addresses: choice } = spec.request.sslConfig;
  return await onAddresses(
    {
      choice,
      isProxied: isProxied(socksProxy(context)),
      once: (own, { family }) => shakeHandsOnce(withFamily(spec, family), own),
      connectMs: ({ response }) => response?.timingPhases.connection,
    },
    context,
  );
};

const withFamily = (spec: SslSpec, family: IpFamily | undefined): SslSpec => {
  if (!family) return spec;
  const { request } = spec;
  return { ...spec, request: { ...request, sslConfig: { ...request.sslConfig, ipFamily: `IPv${family}` } } };
};

const shakeHandsOnce: Runner<SslSpec, SslDetail> = async (spec, context) => {
  const startMs = performance.now();
  const ready = prepareHandshake(spec.request, context.variables);
  if ('failure' in ready) return unsentOutcome(spec, context, ready.failure);
  const { prepared } = ready;
  const located = socksProxy(context);
  if ('failure' in located) return unsentOutcome(spec, context, located.failure);
  const request = { ...requestOf(spec, prepared, context), proxy: located.proxy };
  const leftMs = context.timeoutMs - (performance.now() - startMs);
  const controls = {
    resolver: context.resolver,
    egress: context.egress,
    signal: context.signal,
    timeoutMs: Math.min(leftMs, spec.request.sslConfig.handshakeTimeoutMs),
  };
  const { result, evidence, diagnosisMs } = await withDiagnosis<TlsProbeResult>(
    {
      hold: (onAttempt) => probeTls(request, { ...controls, onAttempt }),
      failureOf: ({ error }) => (error && !spec.shouldFail ? probeFailure(error) : undefined),
      obstacleTo: ({ error }) => connectionObstacle(request, error),
      isSeenHanging: !request.proxy,
      repetition: (peer) => ({
        what: 'connection',
        run: (given) =>
          repeatConnection({ ...request, isCertificateChecked: false }, peer, { ...controls, ...given }),
      }),
    },
    controls,
    context,
  );
  logFamily(prepared.hostname, result.address, request.family, context.log);
  const measured = withDiagnosisTime(
    { measurement: measurementOf(result.measurement), responseTimeMs: toMicroseconds(result.phases.total) },
    diagnosisMs,
  );
  const run = { prepared, result, evidence };
  return { ...judgedOutcome(spec, context, run), ...measured };
};

function requestOf(
  { request: { sslConfig } }: SslSpec,
  { hostname, serverName }: PreparedHandshake,
  context: RunContext,
): TlsProbeRequest {
  const { port, ipFamily, alpnProtocols, clientCertificateMode, startTls: protocol } = sslConfig;
  const name = serverName ?? hostname;
  return {
    hostname,
    port,
    serverName,
    alpnProtocols,
    family: wantedFamily(ipFamily, context.log),
    clientIdentity:
      clientCertificateMode === 'auto' ? clientCertificateFor(name, context.clientCertificates) : undefined,
    upgrade: protocol ? startTls(protocol, name) : undefined,
  };
}

interface Run {
  readonly prepared: PreparedHandshake;
  readonly result: TlsProbeResult;
  readonly evidence: Evidence;
}

type Judged = Omit<Outcome<SslDetail>, 'responseTimeMs' | 'measurement'>;

function judgedOutcome(spec: SslSpec, context: RunContext, { prepared, result, evidence }: Run): Judged {
  const { sslConfig } = spec.request;
  const { handshake, error } = result;
  const nowMs = Date.now();
  const baseline = handshake ? judgeBaseline(sslConfig.securityBaseline, handshake) : undefined;
  const found = handshake && baseline ? judgeHandshake(handshake, sslConfig, baseline, nowMs) : undefined;
  const failures = error ? [probeFailure(error)] : (found?.failures ?? []);
  const isJudgedOff = !sslConfig.securityBaseline.enabled;
  const response = responseOf(result, isJudgedOff ? undefined : baseline, nowMs);
  const detail: SslDetail = {
    ...emptyDetail(spec, context, prepared),
    response,
    baselineVerdict: baseline && !isJudgedOff ? verdictOf(baseline) : null,
    requestError: error ? (failures[0]?.message ?? null) : null,
    ...evidence,
  };
  const [worst, ...others] = failures;
  const isWelcome =
    spec.shouldFail && worst !== undefined && isOfHandshake(worst) && !(error && isHangUp(error));
  // Nothing was measured that could be judged any further.
  if (error && !isWelcome) return { ...unjudged(probeFailure(error)), detail };
  const expiryMs = handshake ? chainExpiryMs(handshake) : undefined;
  const responseTimeMs = toMicroseconds(result.phases.total);
  const assertions = evaluateAssertions(prepared.assertions, sourcesOf(response, responseTimeMs));
  const reasons = spec.shouldFail ? [] : (found?.degradedReasons ?? []);
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: isWelcome ? null : spec.degradedResponseTime,
    maxResponseTime: isWelcome ? null : spec.maxResponseTime,
    assertions,
    operationFailure: spec.shouldFail ? unexpectedSuccess(isWelcome, prepared) : worst,
    furtherFailures: spec.shouldFail ? [] : others,
  });
  const isDegraded = verdict.failure === undefined && (verdict.isDegraded || reasons.length > 0);
  if (verdict.failure === undefined) for (const reason of reasons) context.log.write('WARN', reason);
  return {
    ...verdict,
    isDegraded,
    ...(reasons.length > 0 && { timeExcessMs: undefined }),
    ...(expiryMs !== undefined && { certificateExpiresAt: expiryMs }),
    detail: { ...detail, assertions, degradedReasons: reasons, jobLog: jobLogOf(context.log) },
  };
}

/** Whether a failure is one of the target's TLS: with `shouldFail` that is what the check wants. */
function isOfHandshake({ code }: Failure): boolean {
  return code.startsWith('TLS_') || code === 'STARTTLS_REFUSED';
}

/** A server that hangs up, as one does that is overloaded or gone, has said nothing about its TLS. */
function isHangUp({ code }: ProbeError): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED';
}

function unexpectedSuccess(isWelcome: boolean, { hostname }: PreparedHandshake): Failure | undefined {
  if (isWelcome) return undefined;
  const message = `TLS with ${hostname} has nothing wrong with it, and the check expects that it has`;
  return failure('CONNECTION_UNEXPECTED', message);
}

/** The definition could not be made into a handshake. */
function unsentOutcome(spec: SslSpec, context: RunContext, failed: Failure): Outcome<SslDetail> {
  const prepared = { hostname: spec.request.sslConfig.hostname, serverName: undefined, assertions: [] };
  const detail = { ...emptyDetail(spec, context, prepared), requestError: failed.message };
  return { ...unjudged(failed), responseTimeMs: 0, detail };
}

function emptyDetail(
  { request: { sslConfig } }: SslSpec,
  { log }: RunContext,
  { hostname, serverName }: PreparedHandshake,
): SslDetail {
  const { port, ipFamily, startTls: protocol, alpnProtocols, skipChainValidation } = sslConfig;
  return {
    assertions: [],
    request: {
      hostname,
      port,
      ipFamily,
      serverName: serverName ?? null,
      startTls: protocol,
      alpnProtocols,
      skipChainValidation,
    },
    response: null,
    baselineVerdict: null,
    degradedReasons: [],
    requestError: null,
    jobLog: jobLogOf(log),
    ...noEvidence,
  };
}

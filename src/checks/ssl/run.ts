import type { IpFamily } from '@picket/probes/address.ts';
import type { ProbeError } from '@picket/probes/connection/errors.ts';
import { startTls } from '@picket/probes/connection/start-tls.ts';
import { warmUpTcp } from '@picket/probes/tcp/warm-up.ts';
import { probeTls, type TlsProbeRequest, type TlsProbeResult } from '@picket/probes/tls/probe.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Runner } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { isProxied, socksProxy } from '../http/location-proxy.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withConnectionDiagnosis } from '../runner/diagnosed-connection.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { judgeBaseline } from './baseline.ts';
import type { SslDetail } from './detail.ts';
import { type PreparedHandshake, prepareHandshake } from './request.ts';
import type { SslSpec } from './spec.ts';
import { judgeHandshake } from './verdict.ts';
import { chainExpiryMs, responseOf, sourcesOf, verdictOf } from './view.ts';

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpTcp;

/** Runs an SSL monitor: connects, performs a TLS handshake with any version that the target supports, and judges it. */
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

type Run = ProbeRun<SslSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<SslDetail, 'request' | 'response' | 'baselineVerdict' | 'degradedReasons'>;

const shakeHandsOnce = probeRunner({
  prepare,
  unsent: (spec) => ({
    ...unknownDetail(spec, { hostname: spec.request.sslConfig.hostname, serverName: undefined }),
    ...noEvidence,
  }),
  timeoutMs: ({ request }) => request.sslConfig.handshakeTimeoutMs,
  hold: ({ spec, prepared: { request }, controls, context }: Run) =>
    withConnectionDiagnosis<TlsProbeResult>(
      {
        proxy: request.proxy,
        hold: (onAttempt) => probeTls(request, { ...controls, onAttempt }),
        failureOf: ({ error }) => (error && !spec.shouldFail ? probeFailure(error) : undefined),
        target: () => ({ ...request, isCertificateChecked: false }),
      },
      controls,
      context,
    ),
  read,
});

function prepare(spec: SslSpec, context: RunContext) {
  const ready = prepareHandshake(spec.request, context.variables);
  if ('failure' in ready) return ready;
  const located = socksProxy(context);
  if ('failure' in located) return located;
  return { ...ready, request: { ...requestOf(spec, ready, context), proxy: located.proxy } };
}

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

function read({ spec, prepared, context }: Run, result: TlsProbeResult): Reading<OwnDetail> {
  const { hostname, request, assertions } = prepared;
  logFamily(hostname, result.address, request.family, context.log);
  const { sslConfig } = spec.request;
  const { handshake, error } = result;
  const nowMs = Date.now();
  const baseline = handshake ? judgeBaseline(sslConfig.securityBaseline, handshake) : undefined;
  const found = handshake && baseline ? judgeHandshake(handshake, sslConfig, baseline, nowMs) : undefined;
  const failures = error ? [probeFailure(error)] : (found?.failures ?? []);
  const isJudgedOff = !sslConfig.securityBaseline.enabled;
  const response = responseOf(result, isJudgedOff ? undefined : baseline, nowMs);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const measured = { measurement: measurementOf(result.measurement), responseTimeMs };
  const detail: OwnDetail = {
    ...unknownDetail(spec, prepared),
    response,
    baselineVerdict: baseline && !isJudgedOff ? verdictOf(baseline) : null,
  };
  const [worst, ...others] = failures;
  const isWelcome =
    spec.shouldFail && worst !== undefined && isOfHandshake(worst) && !(error && isHangUp(error));
  // Without a handshake there is nothing further to judge.
  if (error && !isWelcome) return { failure: probeFailure(error), measured, detail };
  const expiryMs = handshake ? chainExpiryMs(handshake) : undefined;
  const degradedReasons = spec.shouldFail ? [] : (found?.degradedReasons ?? []);
  return {
    measured: { ...measured, ...(expiryMs !== undefined && { certificateExpiresAt: expiryMs }) },
    detail: { ...detail, degradedReasons },
    requestError: error ? worst?.message : null,
    assertions,
    sources: sourcesOf(response, responseTimeMs),
    limits: isWelcome ? noLimits : spec,
    operationFailure: spec.shouldFail ? unexpectedSuccess(isWelcome, prepared) : worst,
    furtherFailures: spec.shouldFail ? [] : others,
    ...(degradedReasons.length > 0 && { degradedReasons }),
  };
}

/** Whether a failure is about the target's TLS: with `shouldFail` the check expects that. */
function isOfHandshake({ code }: Failure): boolean {
  return code.startsWith('TLS_') || code === 'STARTTLS_REFUSED';
}

/** Whether the server hung up, as overloaded or stopping servers do: that says nothing about its TLS. */
function isHangUp({ code }: ProbeError): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED';
}

function unexpectedSuccess(isWelcome: boolean, { hostname }: PreparedHandshake): Failure | undefined {
  if (isWelcome) return undefined;
  const message = `TLS with ${hostname} has no problem, but the check expects one`;
  return failure('CONNECTION_UNEXPECTED', message);
}

/** Returns the detail of a run that sent nothing. */
function unknownDetail(
  { request: { sslConfig } }: SslSpec,
  { hostname, serverName }: Pick<PreparedHandshake, 'hostname' | 'serverName'>,
): OwnDetail {
  const { port, ipFamily, startTls: protocol, alpnProtocols, skipChainValidation } = sslConfig;
  return {
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
  };
}

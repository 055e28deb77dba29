import type { IpFamily, WantedFamily } from '../../probes/address.ts';
import type { ProbeError } from '../../probes/connection/errors.ts';
import type { TcpPhases, TcpProbeResult } from '../../probes/tcp/probe.ts';
import { warmUpTcp } from '../../probes/tcp/warm-up.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
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
import { noEvidence } from '../evidence/evidence.ts';
import { cutText, decodeText, maxStoredBytes } from '../http/body.ts';
import { certificateDetail, expiryOf } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import { isProxied, socksProxy } from '../http/location-proxy.ts';
import type { EvaluatedAssertion } from '../judging/assertion.ts';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import type { TcpDetail, TcpError } from './detail.ts';
import { probeWithDiagnosis } from './diagnosed-conversation.ts';
import { runDialogue } from './diagnosed-dialogue.ts';
import { type PreparedConnection, prepareConnection } from './request.ts';
import type { TcpSpec } from './spec.ts';

/** Most of an answer that is read; assertions see all of it. */
const maxAnswerBytes = 1024 * 1024;
/** A pause that ends an answer (check model 1.4). */
const idleGapMs = 500;

/** Makes the first run of a thread as quick as the others. */
export const warmUp = warmUpTcp;

/** Runs a TCP monitor: connects, sends its data, reads the answer and judges it. */
export const runTcp: Runner<TcpSpec, TcpDetail> = async (spec, context) => {
  const { addresses: choice } = spec.request;
  return await onAddresses(
    {
      choice,
      isProxied: isProxied(socksProxy(context)),
      once: (own, { family }) => connectOnce(withFamily(spec, family), own),
      connectMs: ({ response }) => response.timingPhases?.connection,
    },
    context,
  );
};

const withFamily = (spec: TcpSpec, family: IpFamily | undefined): TcpSpec =>
  family ? { ...spec, request: { ...spec.request, ipFamily: `IPv${family}` } } : spec;

const connectOnce: Runner<TcpSpec, TcpDetail> = async (spec, context) => {
  const startMs = performance.now();
  const prepared = prepareConnection(spec.request, context.variables);
  if ('failure' in prepared) return unsentOutcome(spec, context, prepared.failure);
  const located = socksProxy(context);
  if ('failure' in located) return unsentOutcome(spec, context, located.failure);
  const { connection } = prepared;
  if (spec.request.steps.length > 0)
    return await runDialogue(spec, context, { connection, proxy: located.proxy });
  const { port, ipFamily, useSSL, skipSSL } = spec.request;
  const family = wantedFamily(ipFamily, context.log);
  const failureOf = (found: TcpProbeResult) => unwelcomeFailure(spec, found);
  const { result, evidence, diagnosisMs } = await probeWithDiagnosis(
    {
      hostname: connection.hostname,
      port,
      family,
      proxy: located.proxy,
      tls: useSSL ? { isCertificateChecked: !skipSSL, serverName: connection.serverName } : undefined,
      data: connection.data,
      isAnswerWanted: connection.isAnswerWanted,
      maxAnswerBytes,
      idleGapMs,
      // One lost packet makes a longer pause than that.
      isEnough: (answer) => isAnswerAsExpected(connection, answer),
    },
    {
      resolver: context.resolver,
      egress: context.egress,
      signal: context.signal,
      timeoutMs: context.timeoutMs - (performance.now() - startMs),
    },
    context,
    failureOf,
  );
  logFamily(connection.hostname, result.address, family, context.log);
  if (!result.error) return judgedOutcome(spec, context, connection, result);
  const failed = probeFailure(result.error);
  const error = errorOf(result.error, {
    hostname: connection.hostname,
    address: result.address,
    port,
    family,
  });
  const run = { connection, result, error };
  if (!failureOf(result)) {
    return welcomeRefusal(spec, context, run);
  }
  return {
    ...unjudged(failed),
    ...withDiagnosisTime(measuredOf(result), diagnosisMs),
    responseTimeMs: toMicroseconds(result.elapsedMs),
    detail: { ...detailOf(spec, context, { ...run, requestError: failed.message }), ...evidence },
  };
};

/** Why there was no answer, unless that is what the check wants. */
function unwelcomeFailure({ shouldFail }: TcpSpec, result: TcpProbeResult): Failure | undefined {
  if (!result.error) return undefined;
  const failed = probeFailure(result.error);
  return shouldFail && isConnectionRefusal(result, failed) ? undefined : failed;
}

function judgedOutcome(
  spec: TcpSpec,
  context: RunContext,
  connection: PreparedConnection,
  result: TcpProbeResult,
): Outcome<TcpDetail> {
  const responseTimeMs = toMicroseconds(result.elapsedMs);
  const assertions = evaluateAssertions(connection.assertions, sourcesOf(result, responseTimeMs));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    assertions,
    operationFailure: spec.shouldFail
      ? failure('CONNECTION_UNEXPECTED', `Connected to port ${spec.request.port}, which should not be open`)
      : undefined,
  });
  const detail = detailOf(spec, context, { connection, result, assertions });
  return { ...verdict, ...measuredOf(result), responseTimeMs, detail };
}

/** What the probe measured in addition to its answer. */
function measuredOf({ measurement, certificate }: TcpProbeResult) {
  return { measurement: measurementOf(measurement), ...expiryOf(certificate) };
}

/**
 * Whether the target, and nobody else, kept a TCP connection from being made. Only that is what `shouldFail`
 * asks for: a failed handshake or answer means an open port, and what this location or agent could not do
 * proves nothing.
 */
function isConnectionRefusal({ error, isConnected }: TcpProbeResult, failed: Failure): boolean {
  const isOfConnecting = error?.phase === 'tcp' || error?.phase === 'proxy';
  return isOfConnecting && !isConnected && failed.owner === 'target';
}

/**
 * The target refused the connection, as it should. Assertions still have to hold; there is no response whose
 * time could be over a limit, and a port that is filtered always takes the whole time.
 */
function welcomeRefusal(
  spec: TcpSpec,
  context: RunContext,
  run: {
    readonly connection: PreparedConnection;
    readonly result: TcpProbeResult;
    readonly error: TcpError;
  },
): Outcome<TcpDetail> {
  const responseTimeMs = toMicroseconds(run.result.elapsedMs);
  const assertions = evaluateAssertions(run.connection.assertions, sourcesOf(run.result, responseTimeMs));
  const verdict = judge({ responseTimeMs, degradedResponseTime: null, maxResponseTime: null, assertions });
  const detail = detailOf(spec, context, { ...run, assertions });
  return { ...verdict, ...measuredOf(run.result), responseTimeMs, detail };
}

/** Whether every assertion about the answer holds by now; more of it may still change that. */
function isAnswerAsExpected({ assertions }: PreparedConnection, answer: Buffer): boolean {
  const onAnswer = assertions.filter(({ source }) => source === 'RESPONSE_DATA');
  const sources = { RESPONSE_DATA: () => ({ kind: 'text', text: decodeText(answer, '') }) as const };
  return evaluateAssertions(onAnswer, sources).every(({ error }) => error === null);
}

function sourcesOf(result: TcpProbeResult, responseTimeMs: number): Sources {
  return {
    RESPONSE_DATA: () => ({ kind: 'text', text: decodeText(result.answer, '') }),
    CONNECTION: () => tcpConnectionSource(result),
    // Assertions compare whole milliseconds; `EQUALS 120` could never hold otherwise.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
  };
}

/** The definition could not be made into a connection. */
function unsentOutcome(spec: TcpSpec, context: RunContext, failed: Failure): Outcome<TcpDetail> {
  return {
    ...unjudged(failed),
    responseTimeMs: 0,
    detail: {
      ...emptyDetail(context),
      request: requestOf(spec, { ...spec.request, data: spec.request.data ?? '' }),
      response: { truncated: false, timingPhases: null, ipAddress: null, ipFamily: null, certificate: null },
      requestError: failed.message,
    },
  };
}

function emptyDetail({ log }: RunContext) {
  return { assertions: [], requestError: null, jobLog: jobLogOf(log), ...noEvidence };
}

function requestOf(
  { request }: TcpSpec,
  {
    hostname,
    data,
    serverName,
  }: Pick<PreparedConnection, 'hostname' | 'data'> & { readonly serverName?: string | null | undefined },
): TcpDetail['request'] {
  const { port, ipFamily, useSSL, skipSSL } = request;
  return {
    hostname,
    port,
    data: data === '' ? null : cutText(data).body,
    ...{ ipFamily, useSSL, skipSSL },
    ...(typeof serverName === 'string' && { serverName }),
  };
}

function detailOf(
  spec: TcpSpec,
  context: RunContext,
  run: {
    readonly connection: PreparedConnection;
    readonly result: TcpProbeResult;
    readonly assertions?: EvaluatedAssertion[];
    readonly error?: TcpError;
    readonly requestError?: string;
  },
): TcpDetail {
  const { connection, result, error } = run;
  const { answer, phases } = result;
  const isCut = answer.length > maxStoredBytes;
  const text = decodeText(isCut ? answer.subarray(0, maxStoredBytes) : answer, '', isCut);
  const stored = cutText(text, isCut);
  const isAnswerShown = connection.isAnswerWanted && result.isConnected;
  return {
    ...emptyDetail(context),
    assertions: run.assertions ?? [],
    request: requestOf(spec, connection),
    response: {
      ...(isAnswerShown && { data: stored.body }),
      truncated: result.isTruncated || stored.isCut,
      ...(error && { error }),
      timingPhases: phases ? timesToMicroseconds<TcpPhases>(phases) : null,
      ipAddress: result.address,
      ipFamily: familyName(result.address),
      certificate: certificateDetail(result.certificate),
    },
    requestError: run.requestError ?? null,
  };
}

/** The error as programs look at it (check model 3.3). */
function errorOf(
  error: ProbeError,
  target: {
    readonly hostname: string;
    readonly address: string | null;
    readonly port: number;
    readonly family: WantedFamily;
  },
): TcpError {
  const { hostname, address, port, family } = target;
  const { code, cause, phase } = error;
  if (code !== undefined && phase === 'dns') {
    return { code, syscall: family === 6 ? 'queryAaaa' : 'queryA', hostname };
  }
  const peer = address === null ? { hostname, port } : { address, port };
  if (code === 'ETIMEDOUT') return { code: 'SOCKET_TIMEOUT', ...peer };
  const { errno, syscall } = (cause ?? {}) as NodeJS.ErrnoException;
  return {
    code: code ?? probeFailure(error).code,
    ...(typeof errno === 'number' && { errno }),
    ...(typeof syscall === 'string' && { syscall }),
    ...peer,
  };
}

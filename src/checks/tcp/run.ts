import type { IpFamily, WantedFamily } from '@picket/probes/address.ts';
import type { ProbeError } from '@picket/probes/connection/errors.ts';
import type { TcpPhases, TcpProbeRequest, TcpProbeResult } from '@picket/probes/tcp/probe.ts';
import { warmUpTcp } from '@picket/probes/tcp/warm-up.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { familyName } from '../contract/ip-family.ts';
import type { Runner } from '../contract/outcome.ts';
import { measurementOf, timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { cutText, decodeText, maxStoredBytes } from '../http/body.ts';
import { certificateDetail, expiryOf } from '../http/certificate.ts';
import { tcpConnectionSource } from '../http/connection-assertion.ts';
import { isProxied, socksProxy } from '../http/location-proxy.ts';
import { evaluateAssertions, type Sources } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { noEvidence } from '../runner/evidence.ts';
import { noLimits, type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import type { TcpDetail, TcpError } from './detail.ts';
import { probeWithDiagnosis } from './diagnosed-conversation.ts';
import { runDialogue } from './diagnosed-dialogue.ts';
import { type PreparedConnection, prepareConnection, requestDetail, unsentDetail } from './request.ts';
import type { TcpSpec } from './spec.ts';

/** Most bytes of a response that are read; assertions see all of them. */
const maxAnswerBytes = 1024 * 1024;
/** Pause that ends a response (check model 1.4). */
const idleGapMs = 500;

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpTcp;

/** Runs a TCP monitor: connects, sends its data, reads the response and judges it. */
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

const connectOnce: Runner<TcpSpec, TcpDetail> = (spec, context) =>
  spec.request.steps.length > 0 ? runDialogue(spec, context) : runConversation(spec, context);

type Run = ProbeRun<TcpSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;
type OwnDetail = Pick<TcpDetail, 'request' | 'response'>;

const runConversation = probeRunner({
  prepare,
  unsent: (spec) => ({ ...unsentDetail(spec), ...noEvidence }),
  hold: ({ spec, prepared, controls, context }: Run) =>
    probeWithDiagnosis(prepared.request, controls, context, (found) => unwelcomeFailure(spec, found)),
  read,
});

function prepare(spec: TcpSpec, context: RunContext) {
  const connection = prepareConnection(spec, context);
  if ('failure' in connection) return connection;
  const { port, ipFamily, useSSL, skipSSL } = spec.request;
  const { hostname, serverName, proxy, data, isAnswerWanted } = connection;
  const request: TcpProbeRequest = {
    ...{ hostname, port, proxy, data, isAnswerWanted, maxAnswerBytes, idleGapMs },
    family: wantedFamily(ipFamily, context.log),
    tls: useSSL ? { isCertificateChecked: !skipSSL, serverName } : undefined,
    // A lost packet causes a longer pause than `idleGapMs`.
    isEnough: (answer) => isAnswerAsExpected(connection, answer),
  };
  return { connection, request };
}

/** Returns why there was no response, unless the check expects that. */
function unwelcomeFailure({ shouldFail }: TcpSpec, result: TcpProbeResult): Failure | undefined {
  if (!result.error) return undefined;
  const failed = probeFailure(result.error);
  return shouldFail && isConnectionRefusal(result, failed) ? undefined : failed;
}

function read({ spec, prepared, context }: Run, result: TcpProbeResult): Reading<OwnDetail> {
  const { connection, request } = prepared;
  logFamily(request.hostname, result.address, request.family, context.log);
  const responseTimeMs = toMicroseconds(result.elapsedMs);
  const measured = {
    measurement: measurementOf(result.measurement),
    responseTimeMs,
    ...expiryOf(result.certificate),
  };
  const detail = detailOf(spec, prepared, result);
  const failed = unwelcomeFailure(spec, result);
  if (failed) return { failure: failed, measured, detail };
  return {
    ...{ measured, detail, assertions: connection.assertions },
    sources: sourcesOf(result, responseTimeMs),
    // A closed port has no response whose time could exceed a limit, and a filtered one takes the full timeout.
    limits: result.error ? noLimits : spec,
    operationFailure:
      spec.shouldFail && !result.error
        ? failure('CONNECTION_UNEXPECTED', `Connected to port ${spec.request.port}, which should not be open`)
        : undefined,
  };
}

/**
 * Whether the target itself prevented the TCP connection. `shouldFail` requires exactly that: a failed handshake or
 * response means an open port, and failures of this location or agent prove nothing.
 */
function isConnectionRefusal({ error, isConnected }: TcpProbeResult, failed: Failure): boolean {
  const isOfConnecting = error?.phase === 'tcp' || error?.phase === 'proxy';
  return isOfConnecting && !isConnected && failed.owner === 'target';
}

/** Whether every assertion on the response holds so far; further data may change that. */
function isAnswerAsExpected({ assertions }: PreparedConnection, answer: Buffer): boolean {
  const onAnswer = assertions.filter(({ source }) => source === 'RESPONSE_DATA');
  const sources = { RESPONSE_DATA: () => ({ kind: 'text', text: decodeText(answer, '') }) as const };
  return evaluateAssertions(onAnswer, sources).every(({ error }) => error === null);
}

function sourcesOf(result: TcpProbeResult, responseTimeMs: number): Sources {
  return {
    RESPONSE_DATA: () => ({ kind: 'text', text: decodeText(result.answer, '') }),
    CONNECTION: () => tcpConnectionSource(result),
    // Assertions compare whole milliseconds; otherwise `EQUALS 120` could never hold.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
  };
}

function detailOf(
  spec: TcpSpec,
  { connection, request }: Run['prepared'],
  { answer, phases, error, ...result }: TcpProbeResult,
): OwnDetail {
  const isCut = answer.length > maxStoredBytes;
  const text = decodeText(isCut ? answer.subarray(0, maxStoredBytes) : answer, '', isCut);
  const stored = cutText(text, isCut);
  const isAnswerShown = connection.isAnswerWanted && result.isConnected;
  return {
    request: requestDetail(spec, connection),
    response: {
      ...(isAnswerShown && { data: stored.body }),
      truncated: result.isTruncated || stored.isCut,
      ...(error && { error: errorOf(error, { ...request, address: result.address }) }),
      timingPhases: phases ? timesToMicroseconds<TcpPhases>(phases) : null,
      ipAddress: result.address,
      ipFamily: familyName(result.address),
      certificate: certificateDetail(result.certificate),
    },
  };
}

/** The error for programs (check model 3.3). */
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

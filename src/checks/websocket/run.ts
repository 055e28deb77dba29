import { Buffer } from 'node:buffer';
import { bareHostname, basicAuthorization } from '@picket/probes/connection/forward-proxy.ts';
import { warmUpTcp } from '@picket/probes/tcp/warm-up.ts';
import {
  probeWebSocket,
  type WebSocketProbeRequest,
  type WebSocketProbeResult,
} from '@picket/probes/websocket/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { measurementOf, toMicroseconds } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { expiryOf } from '../http/certificate.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { headerValue } from '../http/header-map.ts';
import type { PreparedRequest } from '../http/request.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { withConnectionDiagnosis } from '../runner/diagnosed-connection.ts';
import { noEvidence } from '../runner/evidence.ts';
import { type ProbeRun, probeRunner, type Reading } from '../runner/probe-runner.ts';
import { prepareConversation } from './request.ts';
import type { WebSocketSpec } from './spec.ts';
import { MessageSteps } from './steps.ts';
import { detailOf, type OwnDetail, sourcesOf, unsentDetail } from './view.ts';

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpTcp;

type Run = ProbeRun<WebSocketSpec, Exclude<ReturnType<typeof prepare>, { failure: Failure }>>;

/** Runs a WebSocket monitor: connects, performs the handshake, executes the steps, closes, and judges the exchange. */
export const runWebSocket = probeRunner({
  prepare,
  unsent: (spec) => ({ ...unsentDetail(spec), ...noEvidence }),
  timeoutMs: ({ request }) => request.timeout * 1000,
  hold: ({ prepared: { request }, controls, context }: Run) =>
    withConnectionDiagnosis<WebSocketProbeResult>(
      {
        proxy: request.target.proxy,
        hold: (onAttempt) => probeWebSocket(request, { ...controls, onAttempt }),
        target: () => ({ ...request.target, alpnProtocols: ['http/1.1'] }),
      },
      controls,
      context,
    ),
  read,
});

function prepare(spec: WebSocketSpec, context: RunContext) {
  const ready = prepareConversation(spec, context);
  if ('failure' in ready) return ready;
  const steps = new MessageSteps(ready.steps);
  return { asked: ready.asked, steps, request: probeRequestOf(spec, ready.asked, steps, context) };
}

function probeRequestOf(
  { request: spec }: WebSocketSpec,
  { url, serverName, headers, proxy, trace }: PreparedRequest,
  { conversation }: MessageSteps,
  { log, clientCertificates }: RunContext,
): WebSocketProbeRequest {
  const isSecure = url.protocol === 'wss:';
  const hostname = bareHostname(url);
  const isAuthorized = headers.some(
    (text, index) => index % 2 === 0 && text.toLowerCase() === 'authorization',
  );
  const authorization = isAuthorized ? undefined : basicAuthorization(url);
  return {
    target: {
      ...{ hostname, isSecure, serverName },
      port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
      family: wantedFamily(spec.ipFamily, log),
      isCertificateChecked: !spec.skipSSL,
      clientIdentity: isSecure ? clientCertificateFor(hostname, clientCertificates) : undefined,
      proxy,
    },
    message: {
      authority: url.host,
      path: `${url.pathname}${url.search}`,
      headers: [
        ...headers,
        ...(authorization ? ['Authorization', authorization] : []),
        ...(trace?.isFor(hostname) ? ['traceparent', trace.traceparent] : []),
      ],
    },
    subprotocols: spec.subprotocols,
    steps: conversation,
  };
}

function read(
  { spec, prepared: { asked, steps, request }, context }: Run,
  result: WebSocketProbeResult,
): Reading<OwnDetail> {
  logFamily(request.target.hostname, result.address, request.target.family, context.log);
  const responseTimeMs = toMicroseconds(result.phases.total);
  const measured = {
    measurement: measurementOf({ ...result.measurement, workMs: result.workMs }),
    responseTimeMs,
    ...expiryOf(result.certificate),
  };
  const detail = detailOf(spec, asked, result, steps.detail(result.outcomes));
  const met = result.error && probeFailure(result.error);
  const failed = steps.failure(result.outcomes, met);
  // Assertions on an interrupted exchange would cover only a part of it.
  if (failed && (met || failed.code !== 'DIALOGUE_FAILED')) return { failure: failed, measured, detail };
  return {
    ...{ measured, detail, assertions: asked.assertions },
    requestError: failed?.message,
    sources: sourcesOf(result, responseTimeMs),
    limits: spec,
    operationFailure: failed ?? statusFailure(spec, result),
  };
}

/** Most characters of a refusal that a message shows. */
const maxWords = 200;

/** Returns why the response to the handshake counts as a failure. */
function statusFailure(
  { shouldFail }: WebSocketSpec,
  { head, isOpened, refusal }: WebSocketProbeResult,
): Failure | undefined {
  if (isOpened !== shouldFail) return undefined;
  if (isOpened) {
    return failure('STATUS_UNEXPECTED', 'Unexpected status 101 (the check expects that the server refuses)');
  }
  const status = head?.status ?? 0;
  const location = headerValue(head?.headers, 'location');
  const words = Buffer.from(refusal).toString('utf8').trim().slice(0, maxWords);
  const where =
    status >= 300 && status < 400 && location !== '' ? `: redirects are not followed, ${location}` : '';
  const said = where === '' && words !== '' && !words.startsWith('<') ? `: ${words}` : '';
  return failure('STATUS_UNEXPECTED', `Unexpected status ${status}, not 101${where}${said}`);
}

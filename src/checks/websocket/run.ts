import { Buffer } from 'node:buffer';
import { bareHostname, basicAuthorization } from '../../probes/connection/forward-proxy.ts';
import { warmUpTcp } from '../../probes/tcp/warm-up.ts';
import {
  probeWebSocket,
  type WebSocketProbeRequest,
  type WebSocketProbeResult,
} from '../../probes/websocket/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome, Runner } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds, unjudged, withDiagnosisTime } from '../contract/outcome.ts';
import type { RunContext } from '../contract/run-context.ts';
import { withDiagnosis } from '../evidence/diagnosis.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { connectionObstacle, repeatConnection } from '../evidence/repeat-connection.ts';
import { expiryOf } from '../http/certificate.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import { headerValue } from '../http/header-map.ts';
import { evaluateAssertions } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { judge } from '../judging/verdict.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import type { WebSocketDetail } from './detail.ts';
import { type PreparedConversation, prepareConversation } from './request.ts';
import type { WebSocketSpec } from './spec.ts';
import { StepCourse } from './steps.ts';
import { detailOf, emptyDetail, sourcesOf } from './view.ts';

/** Makes the first run of a thread as quick as the others. */
export const warmUp = warmUpTcp;

/** Runs a WebSocket monitor: connects, makes the handshake, takes the steps, closes, and judges what was said. */
export const runWebSocket: Runner<WebSocketSpec, WebSocketDetail> = async (spec, context) => {
  const startMs = performance.now();
  const ready = prepareConversation(spec, context);
  if ('failure' in ready) {
    const { message } = ready.failure;
    return { ...unjudged(ready.failure), responseTimeMs: 0, detail: emptyDetail(spec, context, message) };
  }
  const { prepared } = ready;
  const course = new StepCourse(prepared.steps);
  const request = probeRequestOf(spec, { prepared, course }, context);
  const controls = {
    resolver: context.resolver,
    egress: context.egress,
    signal: context.signal,
    timeoutMs: Math.min(context.timeoutMs, spec.request.timeout * 1000) - (performance.now() - startMs),
  };
  const { result, evidence, diagnosisMs } = await withDiagnosis<WebSocketProbeResult>(
    {
      hold: (onAttempt) => probeWebSocket(request, { ...controls, onAttempt }),
      failureOf: ({ error }) => error && probeFailure(error),
      obstacleTo: ({ error }) => connectionObstacle(request.target, error),
      isSeenHanging: !request.target.proxy,
      repetition: (peer) => ({
        what: 'connection',
        run: (given) =>
          repeatConnection({ ...request.target, alpnProtocols: ['http/1.1'] }, peer, {
            ...controls,
            ...given,
          }),
      }),
    },
    controls,
    context,
  );
  logFamily(request.target.hostname, result.address, request.target.family, context.log);
  const measured = withDiagnosisTime(
    {
      measurement: measurementOf({ ...result.measurement, workMs: result.workMs }),
      responseTimeMs: toMicroseconds(result.phases.total),
      ...expiryOf(result.certificate),
    },
    diagnosisMs,
  );
  return { ...judged(spec, context, { prepared, course, result, evidence }), ...measured };
};

function probeRequestOf(
  { request: spec }: WebSocketSpec,
  { prepared, course }: { readonly prepared: PreparedConversation; readonly course: StepCourse },
  { log, clientCertificates }: RunContext,
): WebSocketProbeRequest {
  const { url, serverName, headers, proxy, trace } = prepared.request;
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
    steps: course.conversation,
  };
}

interface Run {
  readonly prepared: PreparedConversation;
  readonly course: StepCourse;
  readonly result: WebSocketProbeResult;
  readonly evidence: Evidence;
}

function judged(
  spec: WebSocketSpec,
  context: RunContext,
  { prepared, course, result, evidence }: Run,
): Omit<Outcome<WebSocketDetail>, 'responseTimeMs'> {
  const detail = (
    assertions: WebSocketDetail['assertions'],
    requestError: string | null,
  ): WebSocketDetail => ({
    ...detailOf(spec, context, { prepared, result, steps: course.detail(result.outcomes) }),
    ...{ assertions, requestError },
    ...evidence,
  });
  const met = result.error && probeFailure(result.error);
  const failed = course.failure(result.outcomes, met);
  // What was judged of a conversation that broke off would be half of it.
  if (failed && (met || failed.code !== 'DIALOGUE_FAILED')) {
    return { ...unjudged(failed), detail: detail([], failed.message) };
  }
  const responseTimeMs = toMicroseconds(result.phases.total);
  const assertions = evaluateAssertions(prepared.request.assertions, sourcesOf(result, responseTimeMs));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    assertions,
    operationFailure: failed ?? statusFailure(spec, result),
  });
  return { ...verdict, detail: detail(assertions, failed?.message ?? null) };
}

/** Most letters of a refusal that a message shows. */
const maxWords = 200;

/** Why the answer to the handshake counts as a failure. */
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

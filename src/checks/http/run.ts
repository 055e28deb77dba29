import { toError } from '@picket/lib/errors.ts';
import { JsonTooLarge, parseJson } from '@picket/lib/json/json-document.ts';
import { largestBodyBytes, threadBodyMemory } from '@picket/probes/http/body/body-memory.ts';
import { type HttpLogin, type HttpProbeResult, isEndless } from '@picket/probes/http/probe.ts';
import { warmUpHttp } from '@picket/probes/http/warm-up.ts';
import { onAddresses } from '../addresses/on-addresses.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { Outcome } from '../contract/outcome.ts';
import { measurementOf, toMicroseconds } from '../contract/outcome.ts';
import type { ClientCertificate, RunContext } from '../contract/run-context.ts';
import type { Sources } from '../judging/evaluate.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { logFamily, wantedFamily } from '../judging/wanted-family.ts';
import { noEvidence } from '../runner/evidence.ts';
import { conclude, controlsOf, type Reading, unsentOutcome } from '../runner/probe-runner.ts';
import { decodeText, isJsonType } from './body.ts';
import { expiryOf } from './certificate.ts';
import { connectionSource } from './connection-assertion.ts';
import type { HttpDetail } from './detail.ts';
import { probeWithDiagnosis } from './diagnosed-request.ts';
import { headerValue, joinedHeaders } from './header-map.ts';
import { isProxied, locationProxy } from './location-proxy.ts';
import { type HttpRequestSpec, type PreparedRequest, prepareRequest } from './request.ts';
import { detailOf, noResponse, type OwnDetail, responseOf } from './view.ts';

/** A check that sends one HTTP request: the common part of URL monitors and API checks. */
export interface HttpCheckSpec {
  readonly shouldFail: boolean;
  readonly request: HttpRequestSpec;
  readonly degradedResponseTime: number | null;
  readonly maxResponseTime: number | null;
}

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpHttp;

/** A sent request and its response; without a response, one with status 0. */
export interface HttpExchange {
  readonly request: PreparedRequest;
  readonly response: HttpDetail['response'];
  /** Returns the body as text, as far as it was read. */
  bodyText(): string;
}

/** Result of the steps between the response and its verdict. */
export interface AfterResponse {
  /** Body to judge and store in place of the received one. */
  readonly body?: string | undefined;
  /** Failures of those steps; they fail a run that has no other failure. */
  readonly failures: readonly Failure[];
}

/** Options of some check types. */
export interface HttpRunOptions {
  /** Returns the client certificate for a host. */
  readonly clientCertificateFor?: ((hostname: string) => ClientCertificate | undefined) | undefined;
  /** Called once, after the request and before judging; without an exchange if the request could not be made. */
  readonly afterwards?: ((exchange: HttpExchange | undefined) => Promise<AfterResponse>) | undefined;
}

const bodySources: ReadonlySet<string> = new Set(['TEXT_BODY', 'JSON_BODY']);

/** Whether the run left an endless body unread. */
function isLeft({ error, head, body }: HttpProbeResult): boolean {
  return !error && head !== undefined && body.isTruncated && !body.isOverLimit && isEndless(head.headers);
}

const nothingAfterwards: AfterResponse = { failures: [] };

/** Sends the request of a check and judges the response; with several addresses, `afterwards` applies to the first. */
export async function runHttp(
  spec: HttpCheckSpec,
  context: RunContext,
  { clientCertificateFor, afterwards }: HttpRunOptions = {},
): Promise<Outcome<HttpDetail>> {
  return await onAddresses(
    {
      choice: spec.request.addresses,
      isProxied: isProxied(locationProxy(context)),
      once: (own, { isFirst, family }) => {
        const ipFamily = family ? (`IPv${family}` as const) : spec.request.ipFamily;
        const means = { clientCertificateFor, ...(isFirst && { afterwards }) };
        const { request } = spec;
        const isAsWritten = request.ipFamily === ipFamily;
        return requestOnce(isAsWritten ? spec : { ...spec, request: { ...request, ipFamily } }, own, means);
      },
      connectMs: ({ response }) => response.timingPhases?.tcp,
    },
    context,
  );
}

async function requestOnce(
  spec: HttpCheckSpec,
  context: RunContext,
  { clientCertificateFor, afterwards }: HttpRunOptions,
): Promise<Outcome<HttpDetail>> {
  const startMs = performance.now();
  const { log, variables, proxyUrl, kerberos } = context;
  const prepared = prepareRequest(spec.request, { variables, proxyUrl, log, kerberos });
  if ('failure' in prepared) {
    const further = await afterwards?.(undefined);
    const outcome = unsentRequest(spec.request, prepared.failure, context);
    return further ? withFurther(outcome, further.failures) : outcome;
  }
  const { request } = prepared;
  const family = wantedFamily(spec.request.ipFamily, log);
  const bodyShare = threadBodyMemory().open();
  try {
    const diagnosed = await probeWithDiagnosis(
      {
        url: request.url,
        method: request.method,
        headers: request.headers,
        body: request.body,
        followRedirects: spec.request.followRedirects,
        isCertificateChecked: !spec.request.skipSSL,
        serverName: request.serverName,
        family,
        proxy: request.proxy,
        clientIdentityFor: clientCertificateFor,
        headersFor: (hostname) => traceHeaders(request, hostname),
        logIn: request.logIn,
        maxBodyBytes: largestBodyBytes,
        isEndlessBodyLeft: !afterwards && !request.assertions.some(({ source }) => bodySources.has(source)),
        bodyShare,
      },
      controlsOf(context, startMs),
      context,
    );
    const { result } = diagnosed;
    logFamily(result.url.hostname, result.address, family, log);
    if (result.body.isOverLimit) log.write('WARN', overLimit(result.body.bytes.length));
    if (isLeft(result)) log.write('INFO', 'the response is an endless stream: its body is not read');
    const afterword = afterwards ? await afterwards(exchangeOf(request, result)) : nothingAfterwards;
    return conclude(readResponse(spec, request, result, afterword), diagnosed, context);
  } finally {
    bodyShare.release();
  }
}

/**
 * Returns the outcome of a run that sent no request.
 *
 * @param requestError what is wrong with the request; null if that is not the reason.
 */
export function unsentRequest(
  { method, url }: Pick<HttpRequestSpec, 'method' | 'url'>,
  failed: Failure,
  context: RunContext,
  requestError?: string | null,
): Outcome<HttpDetail> {
  const request = { method, url, data: '', headers: {}, params: {} };
  const detail = { request, response: { ...noResponse, href: url }, ...noEvidence };
  return unsentOutcome(detail, failed, context, requestError);
}

/** Returns the trace headers for a host. */
function traceHeaders({ trace }: PreparedRequest, hostname: string): readonly string[] {
  return trace?.isFor(hostname) ? ['traceparent', trace.traceparent] : [];
}

/** Describes a body that exceeds the read limit. */
function overLimit(readBytes: number): string {
  return `the body exceeds the limit of an agent: data after the first ${readBytes} bytes is not judged, nor timed`;
}

function exchangeOf(request: PreparedRequest, result: HttpProbeResult): HttpExchange {
  const { head, body } = result;
  return {
    request,
    response: responseOf(request, result, undefined),
    bodyText: () => (head ? decodeText(body.bytes, headerValue(head.headers, 'content-type')) : ''),
  };
}

/** Adds further failures to the outcome of a run that sent nothing. */
function withFurther(outcome: Outcome<HttpDetail>, failures: readonly Failure[]): Outcome<HttpDetail> {
  return { ...outcome, errorMessages: [...outcome.errorMessages, ...failures.map(({ message }) => message)] };
}

/** Reads a response. Without a usable response nothing is judged, but the received part stays visible. */
function readResponse(
  spec: HttpCheckSpec,
  request: PreparedRequest,
  result: HttpProbeResult,
  { body, failures }: AfterResponse,
): Reading<OwnDetail> {
  const { measurement, workMs, certificate, error } = result;
  const responseTimeMs = toMicroseconds(result.elapsedMs);
  const measured = {
    measurement: measurementOf({ ...measurement, workMs }),
    responseTimeMs,
    ...expiryOf(certificate),
  };
  const detail = detailOf(request, result, error ? undefined : body);
  if (error) return { failure: probeFailure(error), furtherFailures: failures, measured, detail };
  return {
    measured,
    detail,
    assertions: request.assertions,
    sources: sourcesOf(result, responseTimeMs, body),
    limits: spec,
    operationFailure: statusFailure(result, spec.shouldFail),
    furtherFailures: failures,
  };
}

/** spec.md `shouldFail`: inverts the status rule; everything else must still hold. */
function statusFailure({ head, login }: HttpProbeResult, shouldFail: boolean): Failure | undefined {
  const status = head?.status ?? 0;
  if (status >= 400 === shouldFail) return undefined;
  const message = `Unexpected status ${status}`;
  if (shouldFail) return failure('STATUS_UNEXPECTED', `${message} (the check expects 400 or above)`);
  if (status !== 401 || !login) return failure('STATUS_UNEXPECTED', message);
  return failure('STATUS_UNEXPECTED', `${message} (${loginWords(login)})`, { loginState: login.state });
}

function loginWords({ scheme, state, reason, offered }: HttpLogin): string {
  if (state === 'refused') return `the server refused the credentials${reason === null ? '' : `: ${reason}`}`;
  if (state === 'not-offered') {
    const names = [...new Set(offered)].slice(0, 5).join(', ');
    return `the server does not offer ${scheme}, but ${names === '' ? 'no login at all' : names}`;
  }
  return reason ?? 'the login did not succeed';
}

/** @param givenBody replaces the received body, if present. */
function sourcesOf(result: HttpProbeResult, responseTimeMs: number, givenBody: string | undefined): Sources {
  const { head, body } = result;
  const contentType = headerValue(head?.headers, 'content-type');
  let text = givenBody;
  const bodyText = () => {
    text ??= decodeText(body.bytes, contentType);
    return text;
  };
  return {
    STATUS_CODE: () => ({ kind: 'value', value: head?.status }),
    // Assertions compare whole milliseconds; otherwise `EQUALS 120` could never hold.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    CONNECTION: () => connectionSource(result),
    HEADERS: () => ({ kind: 'headers', headers: joinedHeaders(head?.headers) }),
    TEXT_BODY: () => ({ kind: 'text', text: bodyText() }),
    JSON_BODY: () => {
      // Ignores the content type: many servers send JSON as text/plain, or without a type.
      try {
        return { kind: 'json', document: parseJson(bodyText()) };
      } catch (thrown) {
        if (thrown instanceof JsonTooLarge) {
          const reason = `body is too large for JSON assertions: ${thrown.message}`;
          return { kind: 'unavailable', reason, code: 'ASSERTION_TOO_COSTLY' };
        }
        const cut = body.isOverLimit ? ` (${overLimit(body.bytes.length)})` : '';
        const type = isJsonType(contentType) ? '' : `; the content type is ${contentType || 'not given'}`;
        const reason = `body is not valid JSON: ${toError(thrown).message}${type}${cut}`;
        return { kind: 'unavailable', reason };
      }
    },
  };
}

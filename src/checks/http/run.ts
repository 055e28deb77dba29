import { toError } from '../../lib/errors.ts';
import type { HttpErrorKind, HttpProbeError } from '../../probes/http/errors.ts';
import { type HttpPhases, timingsOf } from '../../probes/http/phases.ts';
import { type HttpProbeResult, probeHttp } from '../../probes/http/probe.ts';
import { proxyFromUrl } from '../../probes/http/proxy-tunnel.ts';
import { warmUpHttp } from '../../probes/http/warm-up.ts';
import { usableFamily } from '../../probes/ip-family.ts';
import type { EvaluatedAssertion } from '../assertion.ts';
import type { ClientCertificate, Outcome, RunContext } from '../check-type.ts';
import { evaluateAssertions, type Sources } from '../evaluate.ts';
import { type Failure, type FailureCode, failure } from '../failure.ts';
import type { HttpDetail } from '../http-detail.ts';
import { judge } from '../verdict.ts';
import { cutText, decodeText, isJsonType, storedBody } from './body.ts';
import { headerPairs, headerValue, joinedHeaders, queryMap } from './header-map.ts';
import { type HttpRequestSpec, type PreparedRequest, prepareRequest } from './request.ts';

/** A check that sends one HTTP request: what URL monitors and API checks have in common. */
export interface HttpCheckSpec {
  readonly shouldFail: boolean;
  readonly request: HttpRequestSpec;
  readonly degradedResponseTime: number | null;
  readonly maxResponseTime: number | null;
}

/** Most of a decoded body that is read; assertions see all of it. */
const maxBodyBytes = 25 * 1024 * 1024;

/** Makes the first run of a thread as quick as the others. */
export const warmUp = warmUpHttp;

/**
 * Sends the request of a check and judges the response.
 *
 * @param clientCertificateFor the client certificate to offer a host, for check types that use them.
 */
export async function runHttp(
  spec: HttpCheckSpec,
  context: RunContext,
  clientCertificateFor?: (hostname: string) => ClientCertificate | undefined,
): Promise<Outcome<HttpDetail>> {
  const startMs = performance.now();
  const { log, variables, proxyUrl } = context;
  const prepared = prepareRequest(spec.request, { variables, proxyUrl, log });
  if ('failure' in prepared) return unsentOutcome(spec, context, prepared.failure);
  const { request } = prepared;
  const { family, isFallback } = usableFamily(spec.request.ipFamily === 'IPv6' ? 6 : 4);
  if (isFallback) log.write('WARN', 'IPv6 is switched off at this location: the request used IPv4');
  const result = await probeHttp(
    {
      url: request.url,
      method: request.method,
      headers: request.headers,
      body: request.body,
      followRedirects: spec.request.followRedirects,
      isCertificateChecked: !spec.request.skipSSL,
      family,
      proxy: request.proxyUrl && proxyFromUrl(request.proxyUrl),
      clientIdentityFor: clientCertificateFor,
      maxBodyBytes,
    },
    {
      resolver: context.resolver,
      signal: context.signal,
      timeoutMs: context.timeoutMs - (performance.now() - startMs),
    },
  );
  if (result.error) return failedOutcome(context, request, result, result.error);
  return judgedOutcome(spec, context, request, result);
}

function judgedOutcome(
  spec: HttpCheckSpec,
  context: RunContext,
  request: PreparedRequest,
  result: HttpProbeResult,
): Outcome<HttpDetail> {
  const responseTimeMs = toMicroseconds(result.elapsedMs);
  const assertions = evaluateAssertions(request.assertions, sourcesOf(result, responseTimeMs));
  const verdict = judge({
    responseTimeMs,
    degradedResponseTime: spec.degradedResponseTime,
    maxResponseTime: spec.maxResponseTime,
    assertions,
    operationFailure: statusFailure(result.head?.status ?? 0, spec.shouldFail),
  });
  return { ...verdict, responseTimeMs, detail: detailOf(context, { request, result, assertions }) };
}

/** spec.md `shouldFail`: the status rule is inverted; everything else still has to hold. */
function statusFailure(status: number, shouldFail: boolean): Failure | undefined {
  if (status >= 400 === shouldFail) return undefined;
  const hint = shouldFail ? ' (the check expects 400 or above)' : '';
  return failure('STATUS_UNEXPECTED', `Unexpected status ${status}${hint}`);
}

function sourcesOf({ head, body }: HttpProbeResult, responseTimeMs: number): Sources {
  const contentType = headerValue(head?.headers, 'content-type');
  let text: string | undefined;
  const bodyText = () => {
    text ??= decodeText(body.bytes, contentType);
    return text;
  };
  return {
    STATUS_CODE: () => ({ kind: 'value', value: head?.status }),
    // Assertions compare whole milliseconds; `EQUALS 120` could never hold otherwise.
    RESPONSE_TIME: () => ({ kind: 'value', value: Math.round(responseTimeMs) }),
    HEADERS: () => ({ kind: 'headers', headers: joinedHeaders(head?.headers) }),
    TEXT_BODY: () => ({ kind: 'text', text: bodyText() }),
    JSON_BODY: () => {
      if (!isJsonType(contentType)) {
        const shown = contentType === '' ? 'no content type' : `the content type ${contentType}`;
        return { kind: 'unavailable', reason: `body is not JSON: the response has ${shown}` };
      }
      try {
        return { kind: 'json', document: JSON.parse(bodyText()) };
      } catch (thrown) {
        return { kind: 'unavailable', reason: `body is not valid JSON: ${toError(thrown).message}` };
      }
    },
  };
}

/** No usable response: nothing was judged, and what had arrived stays visible. */
function failedOutcome(
  context: RunContext,
  request: PreparedRequest,
  result: HttpProbeResult,
  error: HttpProbeError,
): Outcome<HttpDetail> {
  const failed = httpFailure(error);
  return {
    ...unjudged(failed),
    responseTimeMs: toMicroseconds(result.elapsedMs),
    detail: detailOf(context, { request, result, requestError: failed.message }),
  };
}

/** The definition could not be made into a request. */
function unsentOutcome(spec: HttpCheckSpec, context: RunContext, failed: Failure): Outcome<HttpDetail> {
  const { method, url } = spec.request;
  return {
    ...unjudged(failed),
    responseTimeMs: 0,
    detail: {
      ...emptyDetail(context),
      request: { method, url, data: '', headers: {}, params: {} },
      response: { ...noResponse, href: url },
      requestError: failed.message,
    },
  };
}

/** The one table from what a probe met to what a result says. */
const codes: Readonly<Record<HttpErrorKind, FailureCode>> = {
  'name-not-found': 'NAME_NOT_FOUND',
  'resolver-unavailable': 'RESOLVER_FAILED',
  'connection-refused': 'CONNECTION_REFUSED',
  'connection-reset': 'CONNECTION_RESET',
  'connection-timeout': 'CONNECTION_TIMEOUT',
  'host-unreachable': 'HOST_UNREACHABLE',
  'certificate-invalid': 'TLS_CERTIFICATE_INVALID',
  'handshake-failed': 'TLS_HANDSHAKE_FAILED',
  'response-timeout': 'RESPONSE_TIMEOUT',
  'response-malformed': 'RESPONSE_MALFORMED',
  'body-undecodable': 'RESPONSE_UNDECODABLE',
  'redirect-limit': 'REDIRECT_LIMIT',
  'redirect-invalid': 'REDIRECT_INVALID',
  'network-unavailable': 'NETWORK_UNAVAILABLE',
  'proxy-failed': 'PROXY_FAILED',
  'out-of-resources': 'AGENT_OUT_OF_RESOURCES',
  'request-invalid': 'REQUEST_INVALID',
  aborted: 'RUN_ABORTED',
};

/** The failure a probe's error means for the check. */
function httpFailure(error: HttpProbeError): Failure {
  return failure(codes[error.kind], error.message);
}

function unjudged(failed: Failure) {
  return { failure: failed, isDegraded: false, overMaxResponseTime: false, errorMessages: [failed.message] };
}

const noResponse: HttpDetail['response'] = {
  status: 0,
  statusText: '',
  body: '',
  headers: null,
  timings: null,
  timingPhases: null,
  href: '',
  truncated: false,
  httpVersion: null,
  ipAddress: null,
  redirectCount: 0,
};

function emptyDetail({ log }: RunContext) {
  return {
    assertions: [],
    requestError: null,
    jobLog: log.entries.length === 0 ? null : { setup: [], request: [...log.entries], teardown: [] },
    jobAssets: null,
    pcapDataUrl: null,
  };
}

function detailOf(
  context: RunContext,
  run: {
    readonly request: PreparedRequest;
    readonly result: HttpProbeResult;
    readonly assertions?: EvaluatedAssertion[];
    readonly requestError?: string;
  },
): HttpDetail {
  const { request, result } = run;
  return {
    ...emptyDetail(context),
    assertions: run.assertions ?? [],
    request: {
      method: request.method,
      url: request.url.href,
      data: request.body === undefined ? '' : cutText(request.body).body,
      headers: headerPairs(request.headers),
      params: queryMap(request.url),
    },
    response: responseOf(request, result),
    requestError: run.requestError ?? null,
  };
}

function responseOf(request: PreparedRequest, result: HttpProbeResult): HttpDetail['response'] {
  const { head, body, phases, url, address, redirectCount } = result;
  const reached = { href: url.href, ipAddress: address, redirectCount };
  if (!head) return { ...noResponse, ...reached };
  const isTextWanted = request.assertions.some(({ source }) => source === 'TEXT_BODY');
  const stored = storedBody(body.bytes, headerValue(head.headers, 'content-type'), isTextWanted);
  return {
    status: head.status,
    statusText: head.statusText,
    body: stored.body,
    headers: joinedHeaders(head.headers),
    timings: phases ? rounded(timingsOf(phases)) : null,
    timingPhases: phases ? rounded<HttpPhases>(phases) : null,
    truncated: body.isTruncated || stored.isCut,
    ...(stored.encoding && { bodyEncoding: stored.encoding }),
    httpVersion: head.httpVersion,
    ...reached,
  };
}

/** Milliseconds to the microsecond: more digits are noise that every result would store. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function rounded<Times extends { [name in keyof Times]: number }>(times: Times): Times {
  const copy: Times = { ...times };
  for (const name in copy) copy[name] = toMicroseconds(copy[name]) as Times[typeof name];
  return copy;
}

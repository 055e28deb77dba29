import { toError } from '../../lib/errors.ts';
import type { ProbeError } from '../../probes/connection/errors.ts';
import { proxyFromUrl } from '../../probes/connection/proxy-tunnel.ts';
import { type HttpPhases, timingsOf } from '../../probes/http/phases.ts';
import type { HttpProbeResult } from '../../probes/http/probe.ts';
import { warmUpHttp } from '../../probes/http/warm-up.ts';
import { usableFamily } from '../../probes/ip-family.ts';
import type { EvaluatedAssertion } from '../assertion.ts';
import { certificateDetail, expiryOf } from '../certificate.ts';
import type { ClientCertificate, Outcome, RunContext } from '../check-type.ts';
import { evaluateAssertions, type Sources } from '../evaluate.ts';
import { type Failure, failure } from '../failure.ts';
import type { HttpDetail } from '../http-detail.ts';
import { measurementOf } from '../measurement.ts';
import { timesToMicroseconds, toMicroseconds } from '../milliseconds.ts';
import { probeFailure } from '../probe-failure.ts';
import { jobLogOf } from '../run-log.ts';
import { judge } from '../verdict.ts';
import { cutText, decodeText, isJsonType, storedBody } from './body.ts';
import { type Evidence, noEvidence, probeWithDiagnosis } from './diagnosis.ts';
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
  const { result, evidence } = await probeWithDiagnosis(
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
      egress: context.egress,
      signal: context.signal,
      timeoutMs: context.timeoutMs - (performance.now() - startMs),
    },
    context,
  );
  if (result.error) return failedOutcome(context, request, { result, evidence }, result.error);
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
  const detail = detailOf(context, { request, result, assertions });
  return { ...verdict, ...measuredOf(result), responseTimeMs, detail };
}

/** What the probe knows beside its answer. */
function measuredOf({ measurement, certificate }: HttpProbeResult) {
  return { measurement: measurementOf(measurement), ...expiryOf(certificate) };
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
  { result, evidence }: { readonly result: HttpProbeResult; readonly evidence: Evidence },
  error: ProbeError,
): Outcome<HttpDetail> {
  const failed = probeFailure(error);
  return {
    ...unjudged(failed),
    ...measuredOf(result),
    responseTimeMs: toMicroseconds(result.elapsedMs),
    detail: { ...detailOf(context, { request, result, requestError: failed.message }), ...evidence },
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
  certificate: null,
};

function emptyDetail({ log }: RunContext) {
  return {
    assertions: [],
    requestError: null,
    jobLog: jobLogOf(log),
    ...noEvidence,
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
  const certificate = certificateDetail(result.certificate);
  const reached = { href: url.href, ipAddress: address, redirectCount, certificate };
  if (!head) return { ...noResponse, ...reached };
  const isTextWanted = request.assertions.some(({ source }) => source === 'TEXT_BODY');
  const stored = storedBody(body.bytes, headerValue(head.headers, 'content-type'), isTextWanted);
  return {
    status: head.status,
    statusText: head.statusText,
    body: stored.body,
    headers: joinedHeaders(head.headers),
    timings: phases ? timesToMicroseconds(timingsOf(phases)) : null,
    timingPhases: phases ? timesToMicroseconds<HttpPhases>(phases) : null,
    truncated: body.isTruncated || stored.isCut,
    ...(stored.encoding && { bodyEncoding: stored.encoding }),
    httpVersion: head.httpVersion,
    ...reached,
  };
}

import { bareHostname } from '@picket/probes/connection/forward-proxy.ts';
import { type HttpPhases, timingsOf } from '@picket/probes/http/phases.ts';
import type { HttpLogin, HttpProbeResult } from '@picket/probes/http/probe.ts';
import { familyName } from '../contract/ip-family.ts';
import { timesToMicroseconds, toMicroseconds } from '../contract/outcome.ts';
import { cutText, storedBody } from './body.ts';
import { certificateDetail } from './certificate.ts';
import type { HttpDetail, HttpLoginDetail } from './detail.ts';
import { headerPairs, headerValue, joinedHeaders, queryMap } from './header-map.ts';
import type { PreparedRequest } from './request.ts';

/** Most characters of a redirect's URL that a result keeps. */
const longestHref = 2_000;

/** Response of a run that received none. */
export const noResponse: HttpDetail['response'] = {
  status: 0,
  statusText: '',
  body: '',
  headers: null,
  timings: null,
  timingPhases: null,
  href: '',
  truncated: false,
  readLimitBytes: null,
  httpVersion: null,
  ipAddress: null,
  ipFamily: null,
  redirectCount: 0,
  certificate: null,
};

/** Most characters of the name of a scheme that a server offers. */
const longestScheme = 40;

export type OwnDetail = Pick<HttpDetail, 'request' | 'response'>;

/** The request as sent and the response as received. @param givenBody replaces the received body, if present. */
export function detailOf(
  request: PreparedRequest,
  result: HttpProbeResult,
  givenBody: string | undefined,
): OwnDetail {
  return {
    request: {
      method: request.method,
      url: request.url.href,
      data: request.body === undefined ? '' : cutText(request.body).body,
      headers: headerPairs(request.headers),
      params: queryMap(request.url),
      ...(request.serverName !== undefined && { serverName: request.serverName }),
      ...(wasTraced(request, result) && { traceparent: request.trace?.traceparent }),
    },
    response: responseOf(request, result, givenBody),
  };
}

/** @param givenBody replaces the received body, if present. */
export function responseOf(
  request: PreparedRequest,
  result: HttpProbeResult,
  givenBody: string | undefined,
): HttpDetail['response'] {
  const { head, body, phases, url, address, redirectCount } = result;
  const redirects = result.redirects.map((redirect) => ({
    href: redirect.url.href.slice(0, longestHref),
    status: redirect.status,
    timingPhases: timesToMicroseconds<HttpPhases>(redirect.phases),
  }));
  const certificate = certificateDetail(result.certificate);
  const ipFamily = familyName(address);
  const reached = {
    href: url.href,
    ipAddress: address,
    ipFamily,
    redirectCount,
    ...(redirects.length > 0 && { redirects }),
    certificate,
    ...(result.login && { login: loginDetail(result.login) }),
  };
  if (!head) return { ...noResponse, ...reached };
  const isTextWanted = request.assertions.some(({ source }) => source === 'TEXT_BODY');
  const stored =
    givenBody === undefined
      ? storedBody(body.bytes, headerValue(head.headers, 'content-type'), isTextWanted)
      : { ...cutText(givenBody), encoding: undefined };
  return {
    status: head.status,
    statusText: head.statusText,
    body: stored.body,
    headers: joinedHeaders(head.headers),
    timings: phases ? timesToMicroseconds(timingsOf(phases)) : null,
    timingPhases: phases ? timesToMicroseconds<HttpPhases>(phases) : null,
    truncated: body.isTruncated || stored.isCut,
    readLimitBytes: body.isOverLimit ? body.bytes.length : null,
    ...(stored.encoding && { bodyEncoding: stored.encoding }),
    httpVersion: head.httpVersion,
    ...reached,
  };
}

function loginDetail({ scheme, state, reason, offered, algorithm, legs }: HttpLogin): HttpLoginDetail {
  return {
    scheme,
    state,
    reason,
    offered: offered.map((name) => name.slice(0, longestScheme)),
    algorithm,
    legs: legs.map(({ status, waitMs, downloadMs }) => ({
      status,
      wait: toMicroseconds(waitMs),
      download: toMicroseconds(downloadMs),
    })),
  };
}

/** Whether any host of the chain received the trace context. */
function wasTraced({ trace }: PreparedRequest, { redirects, url }: HttpProbeResult): boolean {
  const urls = [...redirects.map((redirect) => redirect.url), url];
  return urls.some((one) => trace?.isFor(bareHostname(one)));
}

import { hostAndPort, type WantedFamily } from '../address.ts';
import type { HostCertificate } from '../connection/certificate.ts';
import { ProbeError } from '../connection/errors.ts';
import { bareHostname, basicAuthorization, type ForwardProxy } from '../connection/forward-proxy.ts';
import {
  type Interruption,
  type InterruptionSources,
  Interruptions,
  interruptionError,
} from '../connection/interruption.ts';
import { blamedError } from '../connection/proxy-question.ts';
import type { ClientIdentity } from '../connection/secure-contexts.ts';
import type { ConnectionOptions } from '../connection/target.ts';
import { joinedMeasurement, type ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import type { ResponseHead, ResponseHeaders } from './answer-head.ts';
import type { CollectedBody } from './body/body.ts';
import type { BodyShare } from './body/body-memory.ts';
import { CookieJar } from './cookie-jar.ts';
import { Exchange, type ExchangeRequest, type ExchangeResult } from './exchange.ts';
import { type HopTimes, type HttpPhases, sumPhases } from './phases.ts';
import { maxRedirects, type RedirectableRequest, redirectedRequest, redirectLocation } from './redirect.ts';
import { asksForUpgrade } from './request-message.ts';

/** A request to measure. */
export interface HttpProbeRequest {
  /** http or https. Its fragment is not sent; its user and password become basic authorization. */
  readonly url: URL;
  readonly method: string;
  /** Names and values in turn; they go out in this order. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
  readonly followRedirects: boolean;
  /** The name for TLS with the host of `url`, redirects back to it included; its own name when absent. */
  readonly serverName?: string | undefined;
  /** False takes any certificate. */
  readonly isCertificateChecked: boolean;
  readonly family: WantedFamily;
  readonly proxy: ForwardProxy | undefined;
  /** The client certificate to offer a host. */
  readonly clientIdentityFor?: ((hostname: string) => ClientIdentity | undefined) | undefined;
  /** Further headers for a host, names and values in turn; asked for each request of the chain. */
  readonly headersFor?: ((hostname: string) => readonly string[]) | undefined;
  /** Most of the decoded body that is read, in bytes. */
  readonly maxBodyBytes: number;
  /** True where the body is of no interest: one that does not end is not read then. */
  readonly isEndlessBodyLeft?: boolean | undefined;
  /** What the body counts towards until its reader releases it; absent where the limit is small. */
  readonly bodyShare?: BodyShare | undefined;
}

/** The limits hold for the whole chain of redirects. */
export interface HttpProbeControls extends ConnectionOptions, InterruptionSources {}

/**
 * What a probe found. Either `error` is there, or `head` and `phases` are; a broken-off download has both.
 */
export interface HttpProbeResult {
  readonly error: ProbeError | undefined;
  readonly head: ResponseHead | undefined;
  readonly body: CollectedBody;
  /** Absent when the probe ended with an error. */
  readonly phases: HttpPhases | undefined;
  /** Sum of the phases until the end or the error, in milliseconds. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
  /** What this thread has worked on what the servers sent, in CPU milliseconds. */
  readonly workMs: number;
  /** Of all servers of the chain that spoke TLS, what the one showed whose certificates expire first. */
  readonly certificate: HostCertificate | undefined;
  /** The last URL requested. */
  readonly url: URL;
  /** Address of the last peer; null when there was none, or a proxy in between. */
  readonly address: string | null;
  readonly redirectCount: number;
  /** What each request before the last one took, in their order. */
  readonly redirects: readonly HttpRedirect[];
}

/** A request whose answer led to another address. */
export interface HttpRedirect {
  readonly url: URL;
  readonly status: number;
  readonly phases: HttpPhases;
}

/**
 * Sends one request and follows its redirects, each on a fresh connection with one connect attempt. Never
 * throws for what a peer does; a rejection is a fault of ours.
 */
export async function probeHttp(
  request: HttpProbeRequest,
  controls: HttpProbeControls,
): Promise<HttpProbeResult> {
  const startMs = performance.now();
  const chain = new Chain(request, controls);
  try {
    return await chain.follow(startMs);
  } finally {
    chain.release();
  }
}

/**
 * The requests of one probe: at most one is under way. An interruption (deadline or signal) stops the one
 * under way, or the next before it starts.
 */
class Chain {
  readonly #request: HttpProbeRequest;
  readonly #controls: HttpProbeControls;
  #exchange: Exchange | undefined;
  #interruption: Interruption | undefined;
  readonly #cookies = new CookieJar();
  readonly #interruptions: Interruptions;

  constructor(request: HttpProbeRequest, controls: HttpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#interruptions = new Interruptions(controls, (interruption) => {
      this.#interruption = interruption;
      if (this.#exchange) this.#exchange.stop(this.#interruptionError(interruption, this.#exchange));
    });
  }

  release(): void {
    this.#interruptions.release();
  }

  async follow(startMs: number): Promise<HttpProbeResult> {
    const hops: ExchangeResult[] = [];
    const redirects: HttpRedirect[] = [];
    let next: RedirectableRequest = this.#request;
    for (let redirectCount = 0; ; redirectCount += 1) {
      const exchange = new Exchange(this.#exchangeRequest(next));
      this.#exchange = exchange;
      const running = exchange.run(this.#controls);
      if (this.#interruption) exchange.stop(this.#interruptionError(this.#interruption, exchange));
      const result = await running;
      hops.push(result);
      if (result.head) this.#cookies.store(next.url, result.head.headers);
      const outcome = { result, url: next.url, redirectCount, redirects, startMs, endMs: performance.now() };
      const proxyError = this.#proxyRefusal(result, next.url);
      if (proxyError) return this.#result(outcome, proxyError, hops);
      if (result.error || !result.head) return this.#result(outcome, await this.#blamed(result), hops);
      const location = this.#request.followRedirects
        ? redirectLocation(result.head.status, result.head.headers)
        : undefined;
      if (location === undefined) return this.#result(outcome, undefined, hops);
      try {
        if (redirectCount === maxRedirects) throw redirectLimitError(next.url);
        const { url } = next;
        next = redirectedRequest(next, result.head.status, location);
        redirects.push({ url, status: result.head.status, phases: sumPhases([result.times]) });
      } catch (thrown) {
        if (!(thrown instanceof ProbeError)) throw thrown;
        return this.#result(outcome, thrown, hops);
      }
    }
  }

  /** With plain http the proxy itself answers when it wants credentials. */
  #proxyRefusal({ head }: ExchangeResult, url: URL): ProbeError | undefined {
    const { proxy } = this.#request;
    if (proxy?.protocol !== 'http' || url.protocol !== 'http:' || head?.status !== 407) return undefined;
    const proxyName = hostAndPort(proxy.hostname, proxy.port);
    const message = `proxy ${proxyName} answered 407 ${head.statusText}`;
    return new ProbeError('proxy-failed', 'proxy', message.trimEnd(), undefined, {
      details: { proxy: proxyName, proxyStatus: 407, proxyStatusText: head.statusText },
    });
  }

  async #blamed({ error, isProxyInDoubt, address }: ExchangeResult): Promise<ProbeError | undefined> {
    const { proxy } = this.#request;
    if (!error || !isProxyInDoubt || !proxy || address === null) return error;
    return await blamedError(error, { proxy, address }, this.#controls);
  }

  #exchangeRequest({ url, method, headers, body }: RedirectableRequest): ExchangeRequest {
    const {
      proxy,
      family,
      isCertificateChecked,
      clientIdentityFor,
      headersFor,
      maxBodyBytes,
      followRedirects,
    } = this.#request;
    const isSecure = url.protocol === 'https:';
    const hostname = bareHostname(url);
    const isForwarded = proxy?.protocol === 'http' && !isSecure;
    const path = requestTarget(url);
    const authorization = hasHeader(headers, 'authorization') ? undefined : basicAuthorization(url);
    const extra: string[] = [];
    if (authorization) extra.push('Authorization', authorization);
    if (isForwarded && proxy.authorization) extra.push('Proxy-Authorization', proxy.authorization);
    return {
      target: {
        hostname,
        port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
        isSecure,
        serverName: hostname === bareHostname(this.#request.url) ? this.#request.serverName : undefined,
        family,
        isCertificateChecked,
        clientIdentity: isSecure ? clientIdentityFor?.(hostname) : undefined,
        proxy,
        // HTTP/2 has no way to ask for another protocol.
        alpnProtocols: asksForUpgrade(headers) ? ['http/1.1'] : ['h2', 'http/1.1'],
      },
      message: {
        authority: url.host,
        isSecure,
        method,
        path: isForwarded ? url.origin + path : path,
        headers: [...this.#cookies.addTo(headers, url), ...extra, ...(headersFor?.(hostname) ?? [])],
        body: typeof body === 'string' ? Buffer.from(body) : body,
      },
      maxBodyBytes,
      bodyShare: this.#request.bodyShare,
      isBodyWanted: (status, responseHeaders) => {
        if (followRedirects && redirectLocation(status, responseHeaders) !== undefined) return false;
        return !this.#request.isEndlessBodyLeft || !isEndless(responseHeaders);
      },
    };
  }

  #result(
    outcome: {
      readonly result: ExchangeResult;
      readonly url: URL;
      readonly redirectCount: number;
      readonly redirects: readonly HttpRedirect[];
      readonly startMs: number;
      readonly endMs: number;
    },
    error: ProbeError | undefined,
    hops: readonly ExchangeResult[],
  ): HttpProbeResult {
    const { result, url, redirectCount, redirects, startMs, endMs } = outcome;
    const phases = sumPhases(hops.map(({ times }): HopTimes => times));
    const measurement = joinedMeasurement(hops, endMs - startMs - phases.total);
    const accountedMs = measurement.clock === 'kernel' ? phases.total : 0;
    return {
      error,
      head: result.head,
      body: result.body,
      phases: error ? undefined : phases,
      elapsedMs: phases.total,
      measurement: error ? { ...measurement, waitedMs: Math.max(result.silentMs, accountedMs) } : measurement,
      workMs: hops.reduce((sum, { workMs }) => sum + workMs, 0),
      certificate: firstToExpire([...redirects.map((redirect) => redirect.url), url], hops),
      url,
      address: this.#request.proxy ? null : result.address,
      redirectCount,
      redirects,
    };
  }

  #interruptionError(interruption: Interruption, { phase, where }: Exchange): ProbeError {
    return interruptionError(interruption, { phase, where, timeoutMs: this.#controls.timeoutMs });
  }
}

/** Media types of answers that go on as long as the client stays: events, pictures of a camera, radio and television. */
const streamType = /^\s*(text\/event-stream|multipart\/x-mixed-replace|(audio|video)\/)/i;

/** Whether an answer has no end of its own, as far as its head tells. */
export function isEndless(headers: ResponseHeaders): boolean {
  const type = headers['content-type'];
  return headers['content-length'] === undefined && typeof type === 'string' && streamType.test(type);
}

/** @param urls of the requests, in the order of their results. */
function firstToExpire(urls: readonly URL[], hops: readonly ExchangeResult[]): HostCertificate | undefined {
  const shown = hops.flatMap(({ certificate }, index) => {
    const url = urls[index];
    return certificate && url ? [{ ...certificate, hostname: bareHostname(url) }] : [];
  });
  // Dates that make no sense are NaN; they come first only where no other certificate was seen.
  const dated = shown.filter(({ chainValidToMs }) => Number.isFinite(chainValidToMs));
  return dated.sort((one, other) => one.chainValidToMs - other.chainValidToMs)[0] ?? shown.at(-1);
}

function redirectLimitError(url: URL): ProbeError {
  const message = `more than ${maxRedirects} redirects; the last one was at ${url.host}${url.pathname}`;
  return new ProbeError('redirect-limit', 'firstByte', message);
}

/** What a URL asks its server for; a lone question mark is a part of that. */
function requestTarget(url: URL): string {
  if (url.search !== '') return url.pathname + url.search;
  const [beforeFragment = ''] = url.href.split('#', 1);
  return beforeFragment.endsWith('?') ? `${url.pathname}?` : url.pathname;
}

function hasHeader(headers: readonly string[], name: string): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name) return true;
  }
  return false;
}

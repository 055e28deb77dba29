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
import type { Login, LoginProgress, LoginRequest, LoginScheme } from './login/login.ts';
import { type HopTimes, type HttpPhases, type LoginLeg, sumPhases } from './phases.ts';
import { maxRedirects, type RedirectableRequest, redirectedRequest, redirectLocation } from './redirect.ts';
import { asksForUpgrade, type RequestMessage } from './request-message.ts';

/** A request to measure. */
export interface HttpProbeRequest {
  /** http or https. Its fragment is not sent; its user and password become basic authorization. */
  readonly url: URL;
  readonly method: string;
  /** Names and values in turn, sent in this order. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | undefined;
  readonly followRedirects: boolean;
  /** TLS server name for the host of `url`, including redirects back to it; defaults to the host's own name. */
  readonly serverName?: string | undefined;
  /** False accepts any certificate. */
  readonly isCertificateChecked: boolean;
  readonly family: WantedFamily;
  readonly proxy: ForwardProxy | undefined;
  /** Returns the client certificate for a host. */
  readonly clientIdentityFor?: ((hostname: string) => ClientIdentity | undefined) | undefined;
  /** Returns additional headers for a host, names and values in turn; called for each request of the chain. */
  readonly headersFor?: ((hostname: string) => readonly string[]) | undefined;
  /** Limit on the decoded body, in bytes. */
  readonly maxBodyBytes: number;
  /** True if the body is not needed: an endless body is then not read. */
  readonly isEndlessBodyLeft?: boolean | undefined;
  /** The body's memory share until its reader releases it; absent if the limit is small. */
  readonly bodyShare?: BodyShare | undefined;
  /**
   * Returns the login for the origin of `url`, which goes over HTTP/1.1; called once. Absent, or with an Authorization
   * header of the request's own, it does not log in.
   */
  readonly logIn?: (() => Login) | undefined;
}

/** The limits apply to the whole chain of redirects. */
export interface HttpProbeControls extends ConnectionOptions, InterruptionSources {}

/** Result of a probe. Either `error` is set, or `head` and `phases` are; an interrupted download sets both. */
export interface HttpProbeResult {
  readonly error: ProbeError | undefined;
  readonly head: ResponseHead | undefined;
  readonly body: CollectedBody;
  /** Absent if the probe ended with an error. */
  readonly phases: HttpPhases | undefined;
  /** Sum of the phases until the end or the error, in milliseconds. */
  readonly elapsedMs: number;
  readonly measurement: ProbeMeasurement;
  /** CPU time that this thread spent processing the servers' data, in milliseconds. */
  readonly workMs: number;
  /** The certificate whose chain expires first, of all TLS servers in the chain of requests. */
  readonly certificate: HostCertificate | undefined;
  /** The last URL requested. */
  readonly url: URL;
  /** Address of the last peer; null without a connection, or with a proxy. */
  readonly address: string | null;
  readonly redirectCount: number;
  /** The requests before the last one, in order. */
  readonly redirects: readonly HttpRedirect[];
  /** How far the login came; absent for a request without one. */
  readonly login: HttpLogin | undefined;
}

/** A login, and the requests before the last one that got a challenge, without those that led to redirects. */
export interface HttpLogin extends LoginProgress {
  readonly scheme: LoginScheme;
  readonly legs: readonly LoginLeg[];
}

/** A request whose response redirected to another URL. */
export interface HttpRedirect {
  readonly url: URL;
  readonly status: number;
  readonly phases: HttpPhases;
}

/**
 * Sends one request and follows its redirects, each on a fresh connection with one connect attempt. Never throws
 * because of a peer; a rejection is a bug of ours.
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
 * The requests of one probe: at most one is in progress. An interruption (deadline or signal) stops the current one, or
 * the next before it starts.
 */
class Chain {
  readonly #request: HttpProbeRequest;
  readonly #controls: HttpProbeControls;
  #exchange: Exchange | undefined;
  #interruption: Interruption | undefined;
  readonly #cookies = new CookieJar();
  readonly #interruptions: Interruptions;
  readonly #login: Login | undefined;

  constructor(request: HttpProbeRequest, controls: HttpProbeControls) {
    this.#request = request;
    this.#controls = controls;
    this.#login = hasHeader(request.headers, 'authorization') ? undefined : request.logIn?.();
    this.#interruptions = new Interruptions(controls, (interruption) => {
      this.#interruption = interruption;
      if (this.#exchange) this.#exchange.stop(this.#interruptionError(interruption, this.#exchange));
    });
  }

  release(): void {
    this.#interruptions.release();
    this.#login?.release?.();
  }

  async follow(startMs: number): Promise<HttpProbeResult> {
    const hops: Hop[] = [];
    const redirects: HttpRedirect[] = [];
    let next: RedirectableRequest = this.#request;
    for (let redirectCount = 0; ; redirectCount += 1) {
      const { url } = next;
      const own = await this.#exchanges(next);
      const result = own.at(-1) as ExchangeResult;
      hops.push(...own.map((one) => ({ ...one, url })));
      if (result.head) this.#cookies.store(url, result.head.headers);
      const outcome = { result, url, redirectCount, redirects, startMs, endMs: performance.now() };
      const proxyError = this.#proxyRefusal(result, url);
      if (proxyError) return this.#result(outcome, proxyError, hops);
      if (result.error || !result.head) return this.#result(outcome, await this.#blamed(result), hops);
      const location = this.#request.followRedirects
        ? redirectLocation(result.head.status, result.head.headers)
        : undefined;
      if (location === undefined) return this.#result(outcome, undefined, hops);
      try {
        if (redirectCount === maxRedirects) throw redirectLimitError(url);
        next = redirectedRequest(next, result.head.status, location);
        const phases = sumPhases(own.map(({ times }) => times));
        redirects.push({ url, status: result.head.status, phases });
      } catch (thrown) {
        if (!(thrown instanceof ProbeError)) throw thrown;
        return this.#result(outcome, thrown, hops);
      }
    }
  }

  /** Sends one request of the chain, over further connections as long as a login goes on there. */
  async #exchanges(next: RedirectableRequest): Promise<ExchangeResult[]> {
    const login = next.url.origin === this.#request.url.origin ? this.#login : undefined;
    login?.begin();
    const results: ExchangeResult[] = [];
    let authorization: string | undefined;
    do {
      const exchange = new Exchange(this.#exchangeRequest(next, login, authorization));
      this.#exchange = exchange;
      const running = exchange.run(this.#controls);
      if (this.#interruption) exchange.stop(this.#interruptionError(this.#interruption, exchange));
      const result = await running;
      results.push(result);
      authorization = result.authorization;
      if (result.head && result.head.status !== 401) login?.accept(result.head.headers);
    } while (authorization !== undefined && results.length < mostLoginConnections);
    return results;
  }

  /** With plain http the proxy itself responds if it requires credentials. */
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

  /** @param authorization credentials of a login that began on another connection. */
  #exchangeRequest(
    { url, method, headers, body }: RedirectableRequest,
    login: Login | undefined,
    authorization: string | undefined,
  ): ExchangeRequest {
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
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const asked: LoginRequest = { method, path, hostname, body: bytes };
    const basic = login || hasHeader(headers, 'authorization') ? undefined : basicAuthorization(url);
    const proxyLogin = isForwarded && proxy.authorization ? ['Proxy-Authorization', proxy.authorization] : [];
    const message = (credentials: string | undefined): RequestMessage => ({
      authority: url.host,
      isSecure,
      method,
      path: isForwarded ? url.origin + path : path,
      headers: [
        ...this.#cookies.addTo(headers, url),
        ...(credentials ? ['Authorization', credentials] : []),
        ...proxyLogin,
        ...(headersFor?.(hostname) ?? []),
      ],
      body: bytes,
    });
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
        // HTTP/2 supports neither protocol upgrades nor logins of a connection.
        alpnProtocols: login || asksForUpgrade(headers) ? ['http/1.1'] : ['h2', 'http/1.1'],
      },
      message: message(authorization ?? login?.preemptive(asked) ?? basic),
      login: login && {
        message,
        react: (challenged) => {
          this.#cookies.store(url, challenged.headers);
          return login.react(challenged, asked);
        },
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
    hops: readonly Hop[],
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
      certificate: firstToExpire(hops),
      url,
      address: this.#request.proxy ? null : result.address,
      redirectCount,
      redirects,
      login: this.#loginOf(hops.filter((hop) => hop.url === url)),
    };
  }

  #loginOf(hops: readonly Hop[]): HttpLogin | undefined {
    if (!this.#login) return undefined;
    const { scheme, progress } = this.#login;
    const { state, reason, offered, algorithm } = progress;
    const legs = hops.flatMap(({ times }) => times.legs ?? []);
    return { scheme, state, reason, offered, algorithm, legs };
  }

  #interruptionError(interruption: Interruption, { phase, where }: Exchange): ProbeError {
    return interruptionError(interruption, { phase, where, timeoutMs: this.#controls.timeoutMs });
  }
}

/** An exchange of the chain, and the URL that it requested. */
type Hop = ExchangeResult & { readonly url: URL };

/** Most connections of one request that logs in: servers close them between challenges. */
const mostLoginConnections = 6;

/** Media types of endless responses: server-sent events, camera images, radio and television. */
const streamType = /^\s*(text\/event-stream|multipart\/x-mixed-replace|(audio|video)\/)/i;

/** Returns whether a response is endless, according to its head. */
export function isEndless(headers: ResponseHeaders): boolean {
  const type = headers['content-type'];
  return headers['content-length'] === undefined && typeof type === 'string' && streamType.test(type);
}

function firstToExpire(hops: readonly Hop[]): HostCertificate | undefined {
  const shown = hops.flatMap(({ certificate, url }) =>
    certificate ? [{ ...certificate, hostname: bareHostname(url) }] : [],
  );
  // Invalid dates are NaN; they are used only if there is no other certificate.
  const dated = shown.filter(({ chainValidToMs }) => Number.isFinite(chainValidToMs));
  return dated.sort((one, other) => one.chainValidToMs - other.chainValidToMs)[0] ?? shown.at(-1);
}

function redirectLimitError(url: URL): ProbeError {
  const message = `more than ${maxRedirects} redirects; the last one was at ${url.host}${url.pathname}`;
  return new ProbeError('redirect-limit', 'firstByte', message);
}

/** The request target of a URL; it includes a lone question mark. */
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

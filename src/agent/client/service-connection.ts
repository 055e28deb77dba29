import { isSocksUrl, proxyUrlOf } from '@picket/lib/proxy.ts';
import { socksConnector } from '@picket/probes/outbound/socks-connector.ts';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { AgentSettings } from '../config.ts';

/** Settings needed to reach the service; plain data, so that it can be passed to threads. */
export type ServiceAccess = Pick<AgentSettings, 'serviceUrl' | 'apiKey' | 'proxy'>;

const connectTimeoutMs = 5000;
/** A trusted intermediate authority is trusted without its root, as in checks. */
const trust = { allowPartialTrustChain: true };

type RequestOptions = Omit<Dispatcher.RequestOptions, 'origin' | 'headers'> & {
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/**
 * The connection that every thread uses to reach the service: address, key, proxy. The key is sent in the request
 * header and nowhere else.
 */
export class ServiceConnection {
  readonly #origin: string;
  /** Prefix of every path. */
  readonly #pathPrefix: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #dispatcher: Dispatcher;

  /** @param limits.maxAnswerBytes size limit for responses. */
  constructor(
    access: ServiceAccess,
    limits: { readonly version: string; readonly agentId?: string; readonly maxAnswerBytes: number },
  ) {
    const url = new URL(access.serviceUrl);
    this.#origin = url.origin;
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#headers = {
      authorization: `Bearer ${access.apiKey}`,
      'content-type': 'application/json',
      'user-agent': `picket-agent/${limits.version}`,
      // A refused agent has no other means to say who it is.
      ...(limits.agentId === undefined ? {} : { 'x-picket-agent': limits.agentId }),
    };
    this.#dispatcher = createDispatcher(access, limits.maxAnswerBytes);
  }

  /** @param request.path relative to the service's address. */
  async request({ path, headers, ...request }: RequestOptions): Promise<Dispatcher.ResponseData> {
    return await this.#dispatcher.request({
      ...request,
      origin: this.#origin,
      path: this.#pathPrefix + path,
      headers: { ...this.#headers, ...headers },
    });
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

function createDispatcher(access: ServiceAccess, maxAnswerBytes: number): Dispatcher {
  const options = {
    maxResponseSize: maxAnswerBytes,
    // The timer of each call is the limit; these two would only cut long polls short.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, ...trust },
  };
  const proxyUrl = proxyUrlOf(access.serviceUrl, access.proxy);
  if (proxyUrl && isSocksUrl(proxyUrl)) {
    return new Agent({ ...options, connect: socksConnector(proxyUrl, { timeoutMs: connectTimeoutMs }) });
  }
  return proxyUrl
    ? new ProxyAgent({ ...options, uri: proxyUrl.href, requestTls: trust, proxyTls: trust })
    : new Agent(options);
}

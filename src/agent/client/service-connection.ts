import { proxyUrlOf } from '@picket/lib/proxy.ts';
import { outboundDispatcher } from '@picket/probes/outbound/outbound-dispatcher.ts';
import type { Dispatcher } from 'undici';
import type { AgentSettings } from '../config.ts';
import { WholeExchange } from './whole-exchange.ts';

/** Settings needed to reach the service; plain data, so that it can be passed to threads. */
export type ServiceAccess = Pick<AgentSettings, 'serviceUrl' | 'apiKey' | 'proxy'>;

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
    const proxyUrl = proxyUrlOf(access.serviceUrl, access.proxy);
    this.#dispatcher = outboundDispatcher(proxyUrl, limits.maxAnswerBytes);
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

  /** The same for a response that is read whole. Returns the exchange, which has begun. */
  exchange({ path, headers, ...request }: RequestOptions): WholeExchange {
    const exchange = new WholeExchange();
    const options = {
      ...request,
      origin: this.#origin,
      path: this.#pathPrefix + path,
      headers: { ...this.#headers, ...headers },
    };
    this.#dispatcher.dispatch(options, exchange);
    return exchange;
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

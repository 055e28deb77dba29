import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import type { AgentSettings } from '../config.ts';
import { serviceProxyUrl } from './service-proxy.ts';

/** What it takes to reach the service; data only, so that threads can be given it. */
export type ServiceAccess = Pick<AgentSettings, 'serviceUrl' | 'apiKey' | 'proxy'>;

const connectTimeoutMs = 5000;

/** How requests get to the service: address, key, proxy. The key is in the request header and nowhere else. */
export interface ServiceLine {
  readonly origin: string;
  /** What stands before every path. */
  readonly pathPrefix: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
}

/** @param limits.maxAnswerBytes the largest answer that is read. */
export function openServiceLine(
  access: ServiceAccess,
  limits: { readonly version: string; readonly maxAnswerBytes: number },
): ServiceLine {
  const url = new URL(access.serviceUrl);
  return {
    origin: url.origin,
    pathPrefix: url.pathname.replace(/\/+$/, ''),
    headers: {
      authorization: `Bearer ${access.apiKey}`,
      'content-type': 'application/json',
      'user-agent': `picket-agent/${limits.version}`,
    },
    dispatcher: createDispatcher(access, limits.maxAnswerBytes),
  };
}

function createDispatcher(access: ServiceAccess, maxAnswerBytes: number): Dispatcher {
  const options = {
    maxResponseSize: maxAnswerBytes,
    // The timer of each call is the limit; these two would only cut long polls short.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs },
  };
  const proxyUrl = serviceProxyUrl(access);
  return proxyUrl ? new ProxyAgent({ ...options, uri: proxyUrl.href }) : new Agent(options);
}

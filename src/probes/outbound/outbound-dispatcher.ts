import { isSocksUrl } from '@picket/lib/proxy.ts';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { socksConnector } from './socks-connector.ts';

const connectTimeoutMs = 5000;
/** A trusted intermediate authority is trusted without its root, as in checks. */
const trust = { allowPartialTrustChain: true };

/**
 * Makes the dispatcher for calls of the agent itself: to the service, to providers of secrets. Each call has a timer of
 * its own, so there are no limits for the head and the body of a response.
 *
 * @param proxyUrl the proxy to the address; undefined without one.
 * @param maxAnswerBytes size limit of responses.
 */
export function outboundDispatcher(proxyUrl: URL | undefined, maxAnswerBytes: number): Dispatcher {
  const options = {
    maxResponseSize: maxAnswerBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, ...trust },
  };
  if (proxyUrl === undefined) return new Agent(options);
  if (isSocksUrl(proxyUrl)) {
    return new Agent({ ...options, connect: socksConnector(proxyUrl, { timeoutMs: connectTimeoutMs }) });
  }
  return new ProxyAgent({ ...options, uri: proxyUrl.href, requestTls: trust, proxyTls: trust });
}

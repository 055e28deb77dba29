import type { Readable } from 'node:stream';
import { maxCodeBundleBytes } from '../../checks/contract/code-bundle.ts';
import { agentBundleRoutes } from '../../protocol/agent/code-bundle.ts';
import { openServiceLine, type ServiceAccess, type ServiceLine } from './service-connection.ts';

/** A line that stands still for this long is given up. */
const stallTimeoutMs = 30_000;

/** Gets code bundles from the service, over a line of its own: they are large, and no claim waits behind one. */
export class BundleClient {
  readonly #line: ServiceLine;

  constructor(access: ServiceAccess, version: string) {
    this.#line = openServiceLine(access, { version, maxAnswerBytes: maxCodeBundleBytes });
  }

  /** The bytes of a code bundle as they come; undefined when the service has none with that key. */
  async fetch(key: string, signal: AbortSignal): Promise<Readable | undefined> {
    const { origin, pathPrefix, headers, dispatcher } = this.#line;
    const { method, path } = agentBundleRoutes.fetchCodeBundle;
    const { statusCode, body } = await dispatcher.request({
      origin,
      path: pathPrefix + path.replace('{key}', key),
      method,
      headers,
      headersTimeout: stallTimeoutMs,
      bodyTimeout: stallTimeoutMs,
      signal,
    });
    if (statusCode === 200) return body;
    await body.dump();
    if (statusCode === 404) return undefined;
    throw new Error(`the service answered ${statusCode}`);
  }

  async close(): Promise<void> {
    await this.#line.dispatcher.destroy();
  }
}

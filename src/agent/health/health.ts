import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';

// Not imported as a module: that would load the WebSocket of Node's own undici, 45 ms of CPU in each thread.
const http = process.getBuiltinModule('node:http');

export interface HealthSource {
  /** Why the agent is not ready, or undefined if it is. */
  readonly notReadyReason: () => string | undefined;
  /** Content of /health. */
  readonly detail: () => Readonly<Record<string, unknown>>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Time limits for clients: a port full of idle connections must not starve the health checks. */
const limits = {
  headersTimeout: 3000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
};
const maxHeaderBytes = 8192;

/**
 * The agent's HTTP port, on all interfaces (spec.md "Private-location agent endpoints"): `/-/readiness`, `/-/liveness`,
 * `/health` and `/metrics`. It responds from memory, and so also while all other parts are busy.
 */
export class HealthServer {
  readonly #source: HealthSource;
  readonly #log: Logger;
  readonly #server: Server;

  constructor(source: HealthSource, log: Logger) {
    this.#source = source;
    this.#log = log;
    this.#server = http.createServer({ ...limits, maxHeaderSize: maxHeaderBytes }, (request, response) => {
      this.#answer(request, response).catch((thrown: unknown) => {
        this.#log.error({ reason: toError(thrown).name }, 'health request failed');
        response.destroy();
      });
    });
  }

  /**
   * Listens; resolves with the port.
   *
   * @throws AppError CONFIG_INVALID if the port cannot be bound.
   */
  async listen(port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen(port, resolve);
    try {
      await promise;
    } catch (thrown) {
      const reason = errorCodeOf(thrown) ?? toError(thrown).message;
      throw new AppError('CONFIG_INVALID', `AGENT_HEALTH_PORT: cannot listen on port ${port} (${reason})`, {
        cause: thrown,
      });
    }
    this.#server.off('error', reject);
    this.#server.on('error', (error) =>
      this.#log.error({ reason: errorCodeOf(error) }, 'health server failed'),
    );
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const path = (request.url ?? '/').split('?', 1)[0];
    const answers: Readonly<Record<string, () => Promise<void> | void>> = {
      '/-/readiness': () => {
        const reason = this.#source.notReadyReason();
        send(
          response,
          reason === undefined ? 200 : 503,
          reason === undefined ? { ready: true } : { ready: false, reason },
        );
      },
      '/-/liveness': () => send(response, 200, { alive: true }),
      '/health': () => send(response, 200, this.#source.detail()),
      '/metrics': async () => {
        const { contentType, body } = await this.#source.metrics();
        response.writeHead(200, { 'content-type': contentType }).end(body);
      },
    };
    const answer = path === undefined || !Object.hasOwn(answers, path) ? undefined : answers[path];
    if (!answer) return send(response, 404, { error: 'Not Found' });
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, 405, { error: 'Method Not Allowed' });
    }
    await answer();
  }
}

function send(response: ServerResponse, statusCode: number, body: Readonly<Record<string, unknown>>): void {
  response
    .writeHead(statusCode, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body)}\n`);
}

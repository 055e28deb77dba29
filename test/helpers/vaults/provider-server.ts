import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ProviderRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ProviderAnswer {
  readonly status: number;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A provider of secrets: an HTTP server that answers as the documentation of the real one says. */
export class ProviderServer implements AsyncDisposable {
  readonly requests: ProviderRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(answer: (request: ProviderRequest) => ProviderAnswer): Promise<ProviderServer> {
    const server = createServer(async (incoming, response) => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, path: url, headers, body: await text(incoming) };
      opened.requests.push(request);
      const { status, body = '', headers: sent = {} } = answer(request);
      response.writeHead(status, { 'content-type': 'application/json', ...sent });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const opened = new ProviderServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return opened;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The paths of all requests, with their methods. */
  get paths(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

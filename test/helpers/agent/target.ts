import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A target for checks: `/hold…` responds when the test releases it, every other path at once. */
export class Target {
  readonly #server: Server;
  readonly #held = new Map<string, ServerResponse>();
  /** Requested paths, in order. */
  readonly requests: string[] = [];
  /** Held paths whose client disconnected before the response. */
  readonly abandoned: string[] = [];

  constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? '';
      this.requests.push(path);
      if (!path.startsWith('/hold')) {
        response.end('ok');
        return;
      }
      this.#held.set(path, response);
      response.on('close', () => {
        this.#held.delete(path);
        if (!response.writableFinished) this.abandoned.push(path);
      });
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Number of requests that are held. */
  get heldCount(): number {
    return this.#held.size;
  }

  /** Responds to all held requests. */
  releaseAll(): void {
    for (const response of this.#held.values()) response.end('late');
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

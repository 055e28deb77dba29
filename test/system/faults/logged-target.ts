import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HistoryBook, nowMs } from './history.ts';

/** A request without a response yet. */
export interface RequestUnderWay {
  readonly path: string;
  /** Source address. */
  readonly address: string;
  readonly atMs: number;
}

/**
 * A target that logs every request. `?hold=MS` makes it slow; with `?sick` it responds to two of three requests of a
 * path with 500, so that runs are retried.
 */
export class LoggedTarget implements AsyncDisposable {
  readonly #server: Server;
  readonly #underWay = new Set<RequestUnderWay>();
  readonly #counts = new Map<string, number>();

  constructor(book: HistoryBook) {
    this.#server = createServer((request, response) => {
      const atMs = nowMs();
      const url = new URL(request.url ?? '/', 'http://target');
      const count = (this.#counts.get(url.pathname) ?? 0) + 1;
      this.#counts.set(url.pathname, count);
      const underWay = { path: url.pathname, address: request.socket.remoteAddress ?? '', atMs };
      this.#underWay.add(underWay);
      const status = url.searchParams.has('sick') && count % 3 !== 0 ? 500 : 200;
      const timer = setTimeout(
        () => response.writeHead(status, { 'content-type': 'text/plain' }).end('ok'),
        Number(url.searchParams.get('hold') ?? 0),
      );
      response.on('error', () => undefined);
      response.on('close', () => {
        clearTimeout(timer);
        this.#underWay.delete(underWay);
        book.write('target', { kind: 'request', atMs, endedAtMs: nowMs(), path: url.pathname, status });
      });
    });
  }

  async listen(address = '127.0.0.1'): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve));
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  get underWay(): readonly RequestUnderWay[] {
    return [...this.#underWay];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

import {
  createServer,
  type IncomingMessage,
  Agent as KeepAliveAgent,
  request as requestOf,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type HistoryBook, nowMs } from './history.ts';
import { answeredEvent, unansweredEvent } from './wire-events.ts';

type Direction = 'requests' | 'replies';

/** A passage that can be closed: data waits in it until it is opened again. */
class Passage {
  #opened: PromiseWithResolvers<void> | undefined;

  get isOpen(): boolean {
    return this.#opened === undefined;
  }

  close(): void {
    this.#opened ??= Promise.withResolvers();
  }

  open(): void {
    this.#opened?.resolve();
    this.#opened = undefined;
  }

  async through(): Promise<void> {
    while (this.#opened) await this.#opened.promise;
  }
}

/**
 * The connection between one agent and the service, which can be cut, and which records all traffic.
 *
 * A cut is silent, like packets that a firewall drops: data sent meanwhile arrives late, once the connection is
 * restored, even if the sender has hung up long since. `reset` is the other kind: all connections break at once,
 * whatever they are transferring.
 */
export class Wire implements AsyncDisposable {
  readonly #agent: string;
  readonly #book: HistoryBook;
  readonly #pickService: () => string | undefined;
  readonly #server: Server;
  readonly #passages: Record<Direction, Passage> = { requests: new Passage(), replies: new Passage() };
  readonly #sockets = new Set<Socket>();
  readonly #keepAlive = new KeepAliveAgent({ keepAlive: true });
  #breaksReplies = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: {
    readonly agent: string;
    readonly book: HistoryBook;
    /** The service process for the next request; undefined if none is running. */
    readonly pickService: () => string | undefined;
  }) {
    this.#agent = options.agent;
    this.#book = options.book;
    this.#pickService = options.pickService;
    this.#server = createServer((request, response) => {
      const work = this.#serve(request, response).catch(() => void response.destroy());
      // A long poll may wait indefinitely.
      if (request.url?.endsWith('/claims')) return;
      this.#underWay.add(work);
      work.finally(() => this.#underWay.delete(work));
    });
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 0;
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(address = '127.0.0.1'): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve));
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  cut(...directions: readonly Direction[]): void {
    for (const direction of directions) this.#passages[direction].close();
  }

  /** From now on connections break in the middle of responses. */
  breakReplies(): void {
    this.#breaksReplies = true;
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  heal(): void {
    this.#breaksReplies = false;
    this.#passages.requests.open();
    this.#passages.replies.open();
  }

  /** Resolves when pending requests have been answered and recorded. */
  async quiet(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    await this.#passages.requests.through();
    const service = this.#pickService();
    const askedAtMs = nowMs();
    const call = { agent: this.#agent, path: request.url ?? '', body, askedAtMs };
    const told = { ...call, answeredAtMs: () => nowMs() };
    if (service === undefined) {
      response.destroy();
      return;
    }
    let answer: Awaited<ReturnType<Wire['forward']>>;
    try {
      answer = await this.forward(service, request, response, body);
    } catch {
      this.#tell(unansweredEvent(call, null, nowMs()));
      await this.#passages.replies.through();
      response.destroy();
      return;
    }
    const event = answeredEvent(call, answer.status, answer.body, told.answeredAtMs());
    this.#tell(event);
    await this.#passages.replies.through();
    if (response.destroyed) return;
    response.writeHead(answer.status, answer.headers);
    if (this.#breaksReplies) {
      response.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)), () => response.destroy());
    } else response.end(answer.body);
  }

  #tell(event: ReturnType<typeof answeredEvent>): void {
    if (event) this.#book.write(this.#agent, event);
  }

  /** Passes a request on and waits for the whole response. If the agent hangs up, so does the wire. */
  forward(service: string, request: IncomingMessage, response: ServerResponse, body: Buffer) {
    return new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>(
      (resolve, reject) => {
        const onward = requestOf(
          new URL(request.url ?? '/', service),
          {
            method: request.method ?? 'GET',
            agent: this.#keepAlive,
            headers: {
              ...request.headers,
              host: new URL(service).host,
              'content-length': String(body.length),
            },
          },
          (answer) => {
            read(answer).then((whole) => {
              const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers;
              resolve({
                status: answer.statusCode ?? 0,
                headers: { ...headers, 'content-length': String(whole.length) },
                body: whole,
              });
            }, reject);
          },
        );
        onward.on('error', reject);
        onward.end(body);
        const hangUp = () => {
          // The news that a caller hung up travels with the requests.
          this.#passages.requests.through().then(
            () => onward.destroy(),
            () => undefined,
          );
        };
        if (response.destroyed) setTimeout(hangUp, 50);
        else response.on('close', () => !response.writableFinished && hangUp());
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    this.#keepAlive.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

import { createServer, type Server, type Socket } from 'node:net';
import type { Transform } from 'node:stream';

/** How long an accepted connection may take to arrive. */
const arrivalMs = 10_000;

interface Expected {
  readonly upstream: Socket;
  readonly filter: Transform | undefined;
  readonly timer: NodeJS.Timeout;
}

/**
 * Relays bytes between connections of a run and their counterparts on the host. A connection of the run is accepted
 * only after its counterpart is established, so that the run sees the connect time and errors of the target.
 */
export class Relay {
  readonly #servers: readonly Server[];
  readonly #expected = new Map<string, Expected>();
  readonly #sockets = new Set<Socket>();

  /** @param listeners descriptors of listening sockets. */
  constructor(listeners: readonly number[]) {
    this.#servers = listeners.map((descriptor) => {
      const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) =>
        this.#join(socket),
      );
      server.on('error', () => undefined); // out of descriptors: the connection is reset
      return server.listen({ fd: descriptor });
    });
  }

  /**
   * Registers the counterpart for the connection from that address and port.
   *
   * @param filter a stream that receives the run's data; the connection is reset if it fails.
   */
  expect(address: string, port: number, upstream: Socket, filter?: Transform): void {
    const key = keyOf(address, port);
    this.#keep(upstream);
    const timer = setTimeout(() => {
      this.#expected.delete(key);
      upstream.destroy();
    }, arrivalMs);
    this.#expected.set(key, { upstream, filter, timer });
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const { timer } of this.#expected.values()) clearTimeout(timer);
    this.#expected.clear();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(socket: Socket): void {
    this.#keep(socket);
    const key = keyOf(socket.remoteAddress ?? '', socket.remotePort ?? 0);
    const expected = this.#expected.get(key);
    this.#expected.delete(key);
    if (!expected) {
      socket.resetAndDestroy();
      return;
    }
    clearTimeout(expected.timer);
    const { upstream, filter } = expected;
    socket.on('error', () => upstream.resetAndDestroy());
    upstream.on('error', () => socket.resetAndDestroy());
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => socket.destroy());
    if (filter) {
      filter.on('error', () => {
        socket.resetAndDestroy();
        upstream.destroy();
      });
      socket.pipe(filter).pipe(upstream);
    } else socket.pipe(upstream);
    upstream.pipe(socket);
    if (upstream.errored) socket.resetAndDestroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined); // the other half handles it
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

function keyOf(address: string, port: number): string {
  return `${address.replace(/^::ffff:/, '')} ${port}`;
}

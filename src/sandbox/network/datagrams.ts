import { createSocket, type Socket } from 'node:dgram';
import { AF_INET, AF_INET6, type Kernel, SysError } from './kernel.ts';
import type { NameBook } from './name-book.ts';
import { socketAddress } from './network-worker.ts';
import { addressBytes, datagram, type Packet } from './packet.ts';

const idleMs = 60_000;
const maxSockets = 256;

interface Flow {
  readonly socket: Socket;
  readonly timer: NodeJS.Timeout;
}

/** Forwards datagrams of a run from the host, with one socket per socket of the run, and returns the responses. */
export class Datagrams {
  readonly #kernel: Kernel;
  readonly #raw: { readonly 4: number; readonly 6: number | undefined };
  readonly #names: NameBook;
  readonly #flows = new Map<string, Flow>();

  constructor(parts: {
    readonly kernel: Kernel;
    readonly raw4: number;
    readonly raw6: number | undefined;
    readonly names: NameBook;
  }) {
    this.#kernel = parts.kernel;
    this.#raw = { 4: parts.raw4, 6: parts.raw6 };
    this.#names = parts.names;
  }

  forward(packet: Packet): void {
    const flow = this.#flow(packet);
    flow.timer.refresh();
    // A failed send loses the datagram, as networks do.
    flow.socket.send(packet.payload, packet.destinationPort, packet.destination, () => undefined);
  }

  /** Answers a datagram of the run on behalf of its destination. */
  answer({ family, source, sourcePort, destination, destinationPort }: Packet, payload: Buffer): void {
    const from = { source: addressBytes(destination), sourcePort: destinationPort };
    const to = { destination: addressBytes(source), destinationPort: sourcePort };
    this.#answer(datagram({ family, ...from, ...to, payload }), family, source);
  }

  close(): void {
    for (const key of [...this.#flows.keys()]) this.#end(key);
  }

  #flow({ family, source, sourcePort }: Packet): Flow {
    const key = `${source} ${sourcePort}`;
    const known = this.#flows.get(key);
    if (known) return known;
    const [oldest] = this.#flows.size < maxSockets ? [] : this.#flows.keys();
    if (oldest !== undefined) this.#end(oldest);
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    const to = { family, destination: addressBytes(source), destinationPort: sourcePort };
    socket.on('error', () => undefined); // the run's own timeout handles it
    socket.on('message', (payload, { address, port }) => {
      if (this.#names.isServer(address, port)) this.#names.read(payload);
      this.#answer(
        datagram({ ...to, source: addressBytes(address), sourcePort: port, payload }),
        to.family,
        source,
      );
    });
    const timer = setTimeout(() => this.#end(key), idleMs).unref();
    const flow = { socket, timer };
    this.#flows.set(key, flow);
    return flow;
  }

  #answer(bytes: Buffer, family: 4 | 6, address: string): void {
    const descriptor = this.#raw[family];
    if (descriptor === undefined) return;
    try {
      this.#kernel.send(descriptor, bytes, socketAddress(family === 4 ? AF_INET : AF_INET6, address, 0));
    } catch (thrown) {
      if (!(thrown instanceof SysError)) throw thrown; // too large for the wire, or out of buffers: lost
    }
  }

  #end(key: string): void {
    const flow = this.#flows.get(key);
    this.#flows.delete(key);
    clearTimeout(flow?.timer);
    flow?.socket.close();
  }
}

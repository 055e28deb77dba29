import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { createServer, type Socket as TcpSocket } from 'node:net';
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from 'dns-packet';

/** A query as the test server received it. */
export interface ReceivedQuery {
  readonly packet: Packet;
  readonly question: Question;
  readonly bytes: Buffer;
  readonly transport: 'UDP' | 'TCP';
  /** Source port of the query. */
  readonly sourcePort: number;
}

/** Response of a test server to a query: the messages it sends; an empty list is silence. */
export type Behaviour = (query: ReceivedQuery) => readonly Buffer[] | Promise<readonly Buffer[]>;

/** A DNS server of a test, on UDP and TCP on the same port of 127.0.0.1. */
export interface DnsTestServer extends AsyncDisposable {
  readonly hostname: string;
  readonly address: string;
  readonly family: 4;
  readonly port: number;
  /** As resolv.conf names it. */
  readonly nameserver: string;
  readonly queries: readonly ReceivedQuery[];
  /** Resolves once this many queries have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A reply with some records; a response code and flags can be given as a number. */
export function answerTo(
  { packet, question }: ReceivedQuery,
  answers: readonly Answer[],
  options: {
    readonly rcode?: number;
    readonly isTruncated?: boolean;
    readonly id?: number;
    readonly additionals?: readonly Answer[];
  } = {},
): Buffer {
  const flags = AUTHORITATIVE_ANSWER | RECURSION_DESIRED | (options.isTruncated ? TRUNCATED_RESPONSE : 0);
  return encode({
    type: 'response',
    id: options.id ?? packet.id,
    flags: flags | (options.rcode ?? 0),
    questions: [question],
    answers: [...answers],
    additionals: [...(options.additionals ?? [])],
  });
}

export const a = (name: string, data: string): Answer => ({ type: 'A', name, ttl: 60, data });
export const cname = (name: string, data: string): Answer => ({ type: 'CNAME', name, ttl: 60, data });

export async function startDnsServer(behaviour: Behaviour): Promise<DnsTestServer> {
  const queries: ReceivedQuery[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const receive = (bytes: Buffer, transport: 'UDP' | 'TCP', sourcePort: number) => {
    const packet = decode(bytes);
    const [question] = packet.questions ?? [];
    if (!question) throw new Error('a query without a question');
    const query = { packet, question, bytes, transport, sourcePort };
    queries.push(query);
    for (const { count, resolve } of waiting) if (queries.length >= count) resolve();
    return behaviour(query);
  };

  const tcpSockets = new Set<TcpSocket>();
  const tcp = createServer((socket) => {
    tcpSockets.add(socket);
    socket.on('error', () => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', async (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      for (const message of await receive(received.subarray(2), 'TCP', socket.remotePort ?? 0)) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  });
  const { udp, port } = await bindBoth(tcp);
  udp.on('message', async (bytes: Buffer, peer: RemoteInfo) => {
    for (const message of await receive(bytes, 'UDP', peer.port)) {
      udp.send(message, peer.port, peer.address);
    }
  });
  const close = async () => {
    for (const socket of tcpSockets) socket.destroy();
    await Promise.all([
      new Promise<void>((resolve) => udp.close(resolve)),
      new Promise<void>((resolve) => tcp.close(() => resolve())),
    ]);
  };
  return {
    hostname: '127.0.0.1',
    address: '127.0.0.1',
    family: 4,
    port,
    nameserver: `[127.0.0.1]:${port}`,
    queries,
    received: (count) =>
      new Promise((resolve) => {
        if (queries.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Binds UDP and TCP to the same port; skips ports that are free for only one of them. */
async function bindBoth(tcp: ReturnType<typeof createServer>): Promise<{ udp: Socket; port: number }> {
  for (;;) {
    const udp = createSocket('udp4');
    await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
    const { port } = udp.address();
    const isBound = await new Promise<boolean>((resolve) => {
      tcp.once('error', () => resolve(false));
      tcp.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (isBound) return { udp, port };
    await new Promise<void>((resolve) => udp.close(resolve));
  }
}

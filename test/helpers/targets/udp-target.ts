import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface UdpTarget extends AsyncDisposable {
  readonly port: number;
  /** Datagrams received so far. */
  readonly received: readonly Buffer[];
  close(): Promise<void>;
}

/** Reply of a target to a datagram with its number, counted from 1; undefined: no reply. */
export type UdpAnswer = (data: Buffer, number: number) => Buffer | undefined;

export const udpAnswers = {
  echo: (data) => data,
  silent: () => undefined,
  // The first datagram is lost.
  'second-time': (data, number) => (number > 1 ? data : undefined),
  binary: () => Buffer.from([0, 0xff, 0x80, 0x0a]),
  empty: () => Buffer.alloc(0),
  largest: () => Buffer.alloc(65_507, 'x'),
  // Replies only after the client has sent back four bytes of its challenge.
  challenge: (data) =>
    data.subarray(5).toString('hex') === '0a0b0c0d'
      ? Buffer.concat([Buffer.from('ffffffff4911', 'hex'), Buffer.from('Picket')])
      : Buffer.from('ffffffff410a0b0c0d', 'hex'),
} satisfies Record<string, UdpAnswer>;

/** Starts a UDP server. */
export async function startUdpTarget(answer: UdpAnswer, host = '127.0.0.1'): Promise<UdpTarget> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const received: Buffer[] = [];
  socket.on('message', (data, { port, address }) => {
    received.push(data);
    const reply = answer(data, received.length);
    if (reply) socket.send(reply, port, address);
  });
  socket.bind(0, host);
  await once(socket, 'listening');
  const close = async () => {
    socket.close();
    await once(socket, 'close');
  };
  return { port: socket.address().port, received, close, [Symbol.asyncDispose]: close };
}

import { createServer as createTcpServer, type Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import type { KeyAndCertificate } from '../targets/certificates.ts';
import { listen, type Target } from '../targets/listening.ts';

export interface TlsTarget extends Target {
  /** Number of completed handshakes, as the server sees it. */
  handshakeCount(): number;
}

/** Starts a TLS server that also accepts weak keys and old protocols, and sends no data. */
export async function startTlsTarget(
  identity: KeyAndCertificate,
  { staple, ...options }: TlsOptions & { readonly staple?: Buffer } = {},
): Promise<TlsTarget> {
  let handshakes = 0;
  const server = createServer(
    { ...identity, minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0', ...options },
    (socket) => {
      handshakes += 1;
      socket.on('error', () => socket.destroy());
      socket.resume();
    },
  );
  if (staple) {
    server.on('OCSPRequest', (_certificate, _issuer, callback: (error: null, response: Buffer) => void) =>
      callback(null, staple),
    );
  }
  // Some tests are about clients that refuse the handshake.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  return { ...(await listen(server, { scheme: 'tls' })), handshakeCount: () => handshakes };
}

/** Broken reactions of servers to a ClientHello. */
export const brokenHandshakes = {
  'closes at once': (socket) => socket.end(),
  'resets it': (socket) => socket.resetAndDestroy(),
  'answers in plain HTTP': (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  'sends an alert': (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 40])),
  'sends a warning': (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 1, 112])),
  'cuts the ServerHello': (socket) =>
    socket.end(Buffer.from([0x16, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3, 1, 2, 3])),
  'sends zeros': (socket) => socket.end(Buffer.alloc(4096)),
  'sends noise': (socket) =>
    socket.end(Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 31) % 251))),
  'claims a record that is too long': (socket) =>
    socket.write(Buffer.from([0x16, 3, 3, 0xff, 0xff, 2, 0, 0])),
  'sends a ServerHello without end': (socket) => {
    // One message of 16 MB, record after record.
    socket.write(Buffer.from([0x16, 3, 3, 0, 4, 2, 0xff, 0xff, 0xff]));
    endless(socket, Buffer.concat([Buffer.from([0x16, 3, 3, 0x40, 0]), Buffer.alloc(16_384, 3)]));
  },
  'sends warnings without end': (socket) => endless(socket, Buffer.from([0x15, 3, 3, 0, 2, 1, 90])),
  'sends empty records without end': (socket) => endless(socket, Buffer.from([0x16, 3, 3, 0, 0])),
  'speaks SSL 2': (socket) => socket.end(Buffer.from([0x80, 0x0b, 4, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0])),
} as const satisfies Readonly<Record<string, (socket: Socket) => unknown>>;
export type BrokenHandshake = keyof typeof brokenHandshakes;

/** Starts a server with that reaction to every handshake. */
export async function startBrokenTlsTarget(behaviour: BrokenHandshake): Promise<Target> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => brokenHandshakes[behaviour](socket));
  });
  return await listen(server, { scheme: 'tcp' });
}

function endless(socket: Socket, piece: Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  socket.resume();
  write();
}

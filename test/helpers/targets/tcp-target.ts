import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { freePort } from '../free-port.ts';
import type { KeyAndCertificate } from './certificates.ts';
import { listen, type Target } from './listening.ts';

export interface TcpTarget extends Target {
  /** All data received so far, from all connections. */
  received(): string;
  /** Number of open connections. */
  openCount(): number;
}

/** A binary greeting: a MySQL handshake, with NUL and bytes that are not valid UTF-8. */
export const binaryBanner = Buffer.concat([
  Buffer.from([0x4a, 0, 0, 0, 0x0a]),
  Buffer.from('8.0.36\0'),
  Buffer.from([0xff, 0xfe, 0x80, 0x00, 0xc3]),
]);

/** The pieces of a text banner; the first cut splits a character. */
export const bannerPieces = [
  Buffer.from('220 gr\u00fc').subarray(0, 7),
  Buffer.from('220 gr\u00fc\u00dfe').subarray(7),
  Buffer.from(' ready\r\n'),
];

/** Bytes a flooding target sends per second. */
export const floodBytesPerSecond = 1_000_000;

/** Behaviour of targets after accepting a connection, good and bad. */
export const tcpBehaviours = {
  echo: (socket) => socket.pipe(socket),
  /** Echoes the received data and closes. */
  'echo-and-close': (socket) => socket.once('data', (chunk) => socket.end(chunk)),
  /** Accepts and closes at once. */
  close: (socket) => socket.end(),
  /** Accepts and resets at once. */
  reset: (socket) => socket.resetAndDestroy(),
  /** Sends a banner, and resets after receiving data. */
  'banner-then-reset': (socket) => {
    socket.write('220 hello\r\n');
    socket.once('data', () => socket.resetAndDestroy());
  },
  /** Sends a greeting in three segments with pauses, and keeps the connection open. */
  'banner-in-pieces': (socket) => {
    socket.setNoDelay(true);
    const [first, ...rest] = bannerPieces;
    socket.write(first ?? '');
    for (const [index, piece] of rest.entries()) {
      const timer = setTimeout(() => socket.write(piece), 60 * (index + 1));
      socket.once('close', () => clearTimeout(timer));
    }
  },
  /** Sends half of the greeting, and the rest a second later, as after a lost packet. */
  'banner-after-loss': (socket) => {
    socket.write('220 hello ');
    const timer = setTimeout(() => socket.write('ready\r\n'), 1000);
    socket.once('close', () => clearTimeout(timer));
  },
  'binary-banner': (socket) => socket.write(binaryBanner),
  /** Never sends anything, but reads. */
  silent: (socket) => socket.resume(),
  /** Never sends anything and never reads. */
  deaf: (socket) => socket.pause(),
  /** Closes its side, keeps the connection open and continues to read. */
  'half-open': (socket) => {
    socket.write('bye');
    socket.end();
    socket.resume();
  },
  /** Sends a megabyte per second in a steady stream. */
  flood: (socket) => {
    const chunk = Buffer.alloc(floodBytesPerSecond / 50, 'x');
    const timer = setInterval(() => socket.write(chunk), 20);
    socket.once('close', () => clearInterval(timer));
  },
  /** Sends as much as the client reads. */
  torrent: (socket) => {
    const chunk = Buffer.alloc(65_536, 'x');
    const write = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', write);
    write();
  },
  /** Sends single bytes endlessly. */
  trickle: (socket) => {
    socket.setNoDelay(true);
    const timer = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(timer));
  },
} as const satisfies Readonly<Record<string, (socket: Socket) => unknown>>;
export type TcpBehaviour = keyof typeof tcpBehaviours;

/** Starts a server that treats every connection with that behaviour; with an identity it speaks TLS. */
export async function startTcpTarget(
  behaviour: TcpBehaviour,
  options: { readonly identity?: KeyAndCertificate; readonly host?: string } = {},
): Promise<TcpTarget> {
  const received: Buffer[] = [];
  let openCount = 0;
  const converse = (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    tcpBehaviours[behaviour](socket);
  };
  const { identity } = options;
  const server = identity
    ? createTlsServer({ key: identity.key, cert: identity.cert }, converse)
    : createServer({ allowHalfOpen: behaviour === 'half-open' }, converse);
  server.on('connection', (socket: Socket) => {
    openCount += 1;
    socket.once('close', () => {
      openCount -= 1;
    });
  });
  // Some tests are about clients that refuse the certificate.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  const target = await listen(server, { scheme: 'tcp', host: options.host });
  return { ...target, received: () => Buffer.concat(received).toString(), openCount: () => openCount };
}

/** A port of this host that stays closed. The port of a closed server would not: the kernel may reassign it. */
export const closedPort = freePort;

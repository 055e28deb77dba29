import { createHash } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { listen, type Target } from '../targets/listening.ts';

/** One frame of a server, valid or not. */
export function frame(
  first: number,
  payload: Buffer | string = '',
  { lengthBytes, isMasked = false }: { readonly lengthBytes?: 0 | 2 | 8; readonly isMasked?: boolean } = {},
): Buffer {
  const data = Buffer.from(payload);
  const needed = data.length < 126 ? 0 : data.length < 65_536 ? 2 : 8;
  const extra = lengthBytes ?? needed;
  const head = Buffer.alloc(2 + extra);
  head[0] = first;
  head[1] = (isMasked ? 0x80 : 0) | (extra === 0 ? data.length : extra === 2 ? 126 : 127);
  if (extra === 2) head.writeUInt16BE(data.length, 2);
  if (extra === 8) head.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat(isMasked ? [head, Buffer.alloc(4), data] : [head, data]);
}

const closing = (code: number, reason: Buffer | string = '') => {
  const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
  payload.writeUInt16BE(code);
  return frame(0x88, payload);
};
const hello = frame(0x81, 'hello');

/** Frames that a server sends after the handshake. */
export const hostileFrames = {
  'a message in single bytes': hello,
  'a masked frame': frame(0x81, 'hello', { isMasked: true }),
  'the first reserved bit': frame(0xc1, 'hello'),
  'a compressed message': frame(0xc1, deflateRawSync(Buffer.from('hello hello hello'))),
  'the second reserved bit': frame(0xa1, 'hello'),
  'the third reserved bit': frame(0x91, 'hello'),
  'the unknown kind 3': frame(0x83, 'hello'),
  'the unknown kind 11': frame(0x8b, 'hello'),
  'a continuation of nothing': frame(0x80, 'hello'),
  'a message in the middle of another': Buffer.concat([frame(0x01, 'one'), frame(0x81, 'two')]),
  'a ping in parts': frame(0x09, 'one'),
  'a ping that is too long': frame(0x89, 'x'.repeat(126)),
  'a ping in the middle of a message': Buffer.concat([
    frame(0x01, 'hel'),
    frame(0x89, 'ping'),
    frame(0x80, 'lo'),
  ]),
  'a pong that nobody asked for': Buffer.concat([frame(0x8a, 'pong'), hello]),
  'text that is not UTF-8': frame(0x81, Buffer.from([0xc3, 0x28])),
  'text with half a character': frame(0x81, Buffer.from([0xe2, 0x82])),
  'half a character in each of two parts': Buffer.concat([
    frame(0x01, Buffer.from([0xe2, 0x82])),
    frame(0x80, Buffer.from([0xac])),
  ]),
  'bytes that are no text, as such': frame(0x82, Buffer.from([0xc3, 0x28])),
  'a length with its first bit set': Buffer.from([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1]),
  'a length of exabytes': Buffer.from([0x82, 127, 0x0f, 0, 0, 0, 0, 0, 0, 1]),
  'a length of two gigabytes': Buffer.from([0x82, 127, 0, 0, 0, 0, 0x80, 0, 0, 0]),
  'a length that is too long by two bytes': frame(0x81, 'hello', { lengthBytes: 2 }),
  'a length that is too long by eight bytes': frame(0x81, 'hello', { lengthBytes: 8 }),
  'a close without a code': frame(0x88),
  'a close with half a code': frame(0x88, Buffer.from([3])),
  'a close with the code 1005': closing(1005),
  'a close with the code 1006': closing(1006),
  'a close with the code 999': closing(999),
  'a close with the code 2999': closing(2999),
  'a close with the code 3000': closing(3000, 'of a library'),
  'a close with the code 1011': closing(1011, 'out of order'),
  'a close with a reason that is not UTF-8': closing(1000, Buffer.from([0xc3, 0x28])),
  'a message behind a close': Buffer.concat([closing(1000), hello]),
  'half a frame': hello.subarray(0, 4),
} as const;

/** Frames that a server repeats endlessly. */
export const floods = {
  'pings without end': frame(0x89, 'ping'),
  'parts of a message without end': frame(0x00, ''),
  'parts of one byte without end': frame(0x00, 'x'),
} as const;

type Answer = (key: string) => string;
const accept = (key: string) =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const switching = (lines: readonly string[]) =>
  `HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`;
const agreed = (key: string, ...more: string[]) =>
  switching(['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept(key)}`, ...more]);

/** Responses to the handshake. */
export const handshakes = {
  'no accept': () => switching(['Upgrade: websocket', 'Connection: Upgrade']),
  'the accept of another key': () =>
    switching(['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept('another')}`]),
  'no upgrade': (key) => switching(['Connection: Upgrade', `Sec-WebSocket-Accept: ${accept(key)}`]),
  'another upgrade': (key) =>
    switching(['Upgrade: h2c', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept(key)}`]),
  'no connection header': (key) => switching(['Upgrade: websocket', `Sec-WebSocket-Accept: ${accept(key)}`]),
  'a subprotocol that nobody offered': (key) => agreed(key, 'Sec-WebSocket-Protocol: mqtt'),
  'compression that nobody offered': (key) => agreed(key, 'Sec-WebSocket-Extensions: permessage-deflate'),
  'capital letters': (key) =>
    switching([
      'UPGRADE: WebSocket',
      'CONNECTION: keep-alive, UPGRADE',
      `SEC-WEBSOCKET-ACCEPT: ${accept(key)}`,
    ]),
  'a page': () => 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhome',
  'a page without a length': () => 'HTTP/1.1 200 OK\r\n\r\nhome',
  'a refusal': () => 'HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n',
  'early hints first': (key) => `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${agreed(key)}`,
  'no HTTP': () => 'SSH-2.0-OpenSSH_9.2\r\n',
  nothing: () => '',
  'half a head': (key) => agreed(key).slice(0, 60),
  'headers without end': () => `HTTP/1.1 101 Switching Protocols\r\n${'X-More: and more\r\n'.repeat(60_000)}`,
} as const satisfies Record<string, Answer>;

/** A server with its own response to every handshake. @param then runs after the response. */
async function startRawServer(answer: Answer, then: (socket: Socket) => void): Promise<Target> {
  const server = createServer((socket) => {
    let received = '';
    socket.setNoDelay(true);
    const onData = (bytes: Buffer) => {
      received += bytes.toString('latin1');
      if (!received.includes('\r\n\r\n')) return;
      socket.off('data', onData);
      socket.on('data', (more: Buffer) => {
        if (hasClose(more)) socket.end(closing(1000));
      });
      const key = /sec-websocket-key: (.*)\r/i.exec(received)?.[1] ?? '';
      socket.write(answer(key), 'latin1');
      then(socket);
    };
    socket.on('data', onData);
  });
  return await listen(server, { scheme: 'ws' });
}

/** Whether these frames of a client contain a close frame. */
function hasClose(frames: Buffer): boolean {
  for (let at = 0; at + 1 < frames.length; at += 6 + ((frames[at + 1] ?? 0) & 0x7f)) {
    if (frames[at] === 0x88) return true;
  }
  return false;
}

/** Accepts the handshake and sends those bytes. */
export async function startFramingServer(name: keyof typeof hostileFrames): Promise<Target> {
  const bytes = hostileFrames[name];
  return await startRawServer(agreed, (socket) => {
    if (name !== 'a message in single bytes') {
      socket.write(bytes);
      return;
    }
    // One byte at a time, so that each is a separate segment.
    const send = (at: number) => {
      if (at < bytes.length) socket.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1));
    };
    send(0);
  });
}

export async function startFloodingServer(name: keyof typeof floods): Promise<Target> {
  const piece = Buffer.concat(Array.from({ length: 1000 }, () => floods[name]));
  return await startRawServer(agreed, (socket) => {
    if (name !== 'pings without end') socket.write(frame(0x01, 'begun'));
    const send = () => {
      while (!socket.destroyed && socket.write(piece));
      if (!socket.destroyed) socket.once('drain', send);
    };
    send();
  });
}

export async function startHandshakeServer(name: keyof typeof handshakes): Promise<Target> {
  return await startRawServer(handshakes[name], (socket) => {
    if (name === 'half a head' || name === 'a page without a length') socket.end();
  });
}

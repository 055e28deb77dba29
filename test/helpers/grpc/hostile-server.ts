import { createServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { listen, type Target } from '../targets/listening.ts';

/** A message of the health service: SERVING. */
const message = Buffer.from([0x08, 0x01]);

/** A message with its length prefix. */
export function frame(bytes: Buffer, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const whole = frame(message);
const zeros = Buffer.alloc(64 * 1024 * 1024);

type Headers = Record<string, string | number>;
interface Shape {
  readonly head?: Headers;
  readonly body?: Buffer;
  /** null: no trailers. */
  readonly trailers?: Headers | null;
}

/** Complete responses over HTTP/2. */
export const shapes = {
  'a whole answer': { body: whole },
  'a content type with a format': { head: { 'content-type': 'application/grpc+proto' }, body: whole },
  'another content type': { head: { 'content-type': 'text/plain' }, body: whole },
  'a page': {
    head: { 'content-type': 'text/html' },
    body: Buffer.from('<html>it works</html>'),
    trailers: null,
  },
  'trailers alone': { head: { 'grpc-status': 7, 'grpc-message': 'no' }, trailers: null },
  'trailers alone that say OK': { head: { 'grpc-status': 0 }, trailers: null },
  'no trailers': { body: whole, trailers: null },
  'trailers without a status': { body: whole, trailers: { 'x-other': 'yes' } },
  'a status that is a word': { body: whole, trailers: { 'grpc-status': 'fine' } },
  'a status over 16': { body: whole, trailers: { 'grpc-status': 42 } },
  'a status with a bad message': { trailers: { 'grpc-status': 3, 'grpc-message': 'a%zz%E4%' } },
  'a status with a message in UTF-8': { trailers: { 'grpc-status': 3, 'grpc-message': 'f%C3%BCr' } },
  'no message': { trailers: { 'grpc-status': 0 } },
  'two messages': { body: Buffer.concat([whole, whole]) },
  'a message that is no message': { body: frame(Buffer.from([0x0f, 0xff, 0xff])) },
  'a message that is cut': { body: whole.subarray(0, 6) },
  'a prefix that is cut': { body: whole.subarray(0, 3) },
  'a message of four gigabytes': { body: Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]) },
  'a message that is too large': { body: frame(Buffer.alloc(1_100_000)) },
  'a status of HTTP 400': { head: { ':status': 400 }, trailers: null },
  'a status of HTTP 401': { head: { ':status': 401 }, trailers: null },
  'a status of HTTP 403': { head: { ':status': 403 }, trailers: null },
  'a status of HTTP 404 with a page': {
    head: { ':status': 404, 'content-type': 'text/html' },
    body: Buffer.from('<html>nothing here</html>'),
    trailers: null,
  },
  'a status of HTTP 503': { head: { ':status': 503 }, trailers: null },
  'a status of HTTP 500': { head: { ':status': 500 }, trailers: null },
  gzip: { head: { 'grpc-encoding': 'gzip' }, body: frame(gzipSync(message), 1) },
  deflate: { head: { 'grpc-encoding': 'deflate' }, body: frame(deflateSync(message), 1) },
  'gzip that is named and not used': { head: { 'grpc-encoding': 'gzip' }, body: whole },
  'gzip that is none': { head: { 'grpc-encoding': 'gzip' }, body: frame(message, 1) },
  'a bomb of gzip': { head: { 'grpc-encoding': 'gzip' }, body: frame(gzipSync(zeros), 1) },
  'a bomb of deflate': { head: { 'grpc-encoding': 'deflate' }, body: frame(deflateSync(zeros), 1) },
} as const satisfies Record<string, Shape>;

/** An HTTP/2 server that answers every call with one of those responses. */
export async function startShapedServer(name: keyof typeof shapes): Promise<Target> {
  const { head, body, trailers = { 'grpc-status': 0 } }: Shape = shapes[name];
  return await startHttp2((stream) => {
    const headers = { ':status': 200, 'content-type': 'application/grpc', ...head };
    if (trailers === null) {
      stream.respond(headers, { endStream: body === undefined });
      if (body) stream.end(body);
      return;
    }
    stream.respond(headers, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(trailers as Record<string, string>));
    stream.end(body);
  });
}

/** Misbehaviour that is not a complete response. */
export const misdeeds = {
  'resets the stream at once': (stream) => stream.close(2),
  'refuses the stream': (stream) => stream.close(7),
  'cancels the stream': (stream) => stream.close(8),
  'asks for calm': (stream) => stream.close(11),
  'resets the stream behind the head': (stream) => {
    stream.respond(grpcHead);
    stream.write(whole, () => stream.close(2));
  },
  'says goodbye with an error': (stream) => stream.session?.goaway(11),
  'says goodbye politely and closes': (stream) => stream.session?.destroy(),
  'breaks the connection off': (stream) => (stream.session?.socket as Socket | undefined)?.destroy(),
  'says nothing': () => undefined,
  'sends messages without end': (stream) => {
    stream.respond(grpcHead);
    const pour = () => {
      while (!stream.destroyed && stream.write(frame(Buffer.alloc(4000))));
    };
    stream.on('drain', pour);
    pour();
  },
  'sends one message without end': (stream) => {
    stream.respond(grpcHead);
    stream.write(Buffer.from([0, 0x00, 0x0f, 0x00, 0x00]));
    const timer = setInterval(() => stream.write(Buffer.alloc(1)), 1);
    stream.once('close', () => clearInterval(timer));
  },
  'sends headers that are too large': (stream) => {
    const many = Array.from({ length: 60 }, (_, index) => [`x-${index}`, 'y'.repeat(4000)]);
    stream.respond({ ...grpcHead, ...Object.fromEntries(many) });
    stream.end();
  },
} as const satisfies Record<string, (stream: ServerHttp2Stream) => void>;

const grpcHead = { ':status': 200, 'content-type': 'application/grpc' };

export async function startMisbehavingServer(name: keyof typeof misdeeds): Promise<Target> {
  return await startHttp2(misdeeds[name]);
}

/** Servers that do not speak HTTP/2, or break it off. */
export const noises = {
  'answers in HTTP/1': (socket: Socket) =>
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  'answers with a banner': (socket: Socket) => socket.end('220 mail.example.com ESMTP\r\n'),
  'closes at once': (socket: Socket) => socket.end(),
  'resets at once': (socket: Socket) => socket.resetAndDestroy(),
  'never says a word': () => undefined,
  'sends random bytes': (socket: Socket) => socket.end(Buffer.alloc(4096, 0xa5)),
  'sends a frame of 16 megabytes': (socket: Socket) => {
    socket.write(settings);
    socket.write(Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]));
  },
  'sends settings without end': (socket: Socket) => pour(socket, settings),
  'sends pings without end': (socket: Socket) => {
    socket.write(settings);
    pour(socket, Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, ...Buffer.alloc(8)]));
  },
  'sends continuations without end': (socket: Socket) => {
    socket.write(settings);
    socket.once('data', () => {
      socket.write(Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x88]));
      pour(socket, Buffer.from([0, 0, 2, 9, 0, 0, 0, 0, 1, 0x00, 0x00]));
    });
  },
} as const satisfies Record<string, (socket: Socket) => unknown>;

const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

function pour(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array.from({ length: 1000 }, () => bytes));
  const write = () => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on('drain', write);
  write();
}

export async function startNoisyServer(name: keyof typeof noises): Promise<Target> {
  return await listen(createTcpServer(noises[name]), { scheme: 'http' });
}

async function startHttp2(answer: (stream: ServerHttp2Stream) => void): Promise<Target> {
  const server = createServer();
  server.on('session', (session) => session.on('error', () => session.destroy()));
  server.on('stream', (stream) => {
    // Clients cancel calls on purpose.
    stream.on('error', () => stream.destroy());
    answer(stream);
  });
  return await listen(server as unknown as Server, { scheme: 'http' });
}

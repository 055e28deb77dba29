/**
 * Entry of a thread that serves HTTP, so that a test can keep its own thread busy without the server noticing. Every
 * answer tells in its headers how long the server held it.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureVersion } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/** What the server is. */
export interface WireTargetOptions {
  readonly kind: 'http' | 'https' | 'h2' | 'grpc' | 'grpcs' | 'banner' | 'greeting' | 'late-proxy';
  readonly identity?: { readonly key: string; readonly cert: string };
  readonly maxVersion?: SecureVersion;
  /** Curve the server insists on: one the client does not guess makes a HelloRetryRequest. */
  readonly curve?: string;
  readonly host?: string;
}

const { kind, identity, maxVersion, curve, host = '127.0.0.1' } = workerData as WireTargetOptions;

/**
 * `/hold/MS` answers after that time, `/parts/COUNT/MS` sends so many pieces of 64 KiB, with pauses, `/stall/MS/MS` its head
 * after the one time and its body after the other.
 */
const answer: RequestListener = async (request: IncomingMessage, response) => {
  const [, what, first, second] = (request.url ?? '').split('/');
  if (what === 'hold') await delay(Number(first));
  if (what === 'stall') {
    await delay(Number(first));
    response.flushHeaders();
    await delay(Number(second));
  }
  if (what !== 'parts') {
    response.end('held');
    return;
  }
  for (let part = 0; part < Number(first); part += 1) {
    response.write(Buffer.alloc(65_536));
    await delay(Number(second));
  }
  response.end();
};

/** A call of gRPC whose head comes after 20 ms, and its message 600 ms later: the health service serves. */
const answerCall = async (stream: ServerHttp2Stream) => {
  stream.on('error', () => stream.destroy()).resume();
  await delay(20);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  await delay(600);
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
};

const tls = { ...identity, ...(maxVersion && { maxVersion }), ...(curve && { ecdhCurve: curve }) };

function server(): Server {
  switch (kind) {
    case 'http':
      return createServer(answer);
    case 'https':
      return createHttpsServer(tls, answer);
    case 'h2':
      return createSecureServer({ ...tls, allowHTTP1: true }, answer as never) as unknown as Server;
    case 'grpc':
      return createHttp2Server().on('stream', answerCall) as unknown as Server;
    case 'grpcs':
      return createSecureServer(tls).on('stream', answerCall) as unknown as Server;
    case 'banner':
      return createTcpServer((socket) => {
        socket.on('error', () => socket.destroy());
        socket.write('hello');
        socket.once('data', async (chunk) => {
          await delay(30);
          socket.end(chunk);
        });
      });
    case 'greeting':
      return createTcpServer(async (socket) => {
        socket.on('error', () => socket.destroy());
        await delay(60);
        socket.end('hello\r\n');
      });
    case 'late-proxy':
      return createTcpServer((socket) => {
        socket.on('error', () => socket.destroy());
        socket.once('data', async (chunk) => {
          const [, port] = /^CONNECT [^ ]*:(\d+) /.exec(chunk.toString()) ?? [];
          await delay(50);
          const { connect } = await import('node:net');
          const onward = connect(Number(port), '127.0.0.1');
          onward.on('error', () => socket.destroy());
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          socket.pipe(onward).pipe(socket);
        });
      });
  }
}

const listening = server();
listening.listen(0, host, () => parentPort?.postMessage((listening.address() as AddressInfo).port));

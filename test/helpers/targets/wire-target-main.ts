/**
 * Entry point of a thread that serves HTTP, so that a test can keep its own thread busy without delaying the server.
 * Headers of every response contain the time that the server took.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureVersion } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/** Settings of the server. */
export interface WireTargetOptions {
  readonly kind: 'http' | 'https' | 'h2' | 'grpc' | 'grpcs' | 'banner' | 'greeting' | 'late-proxy';
  readonly identity?: { readonly key: string; readonly cert: string };
  readonly maxVersion?: SecureVersion;
  /** The only curve the server accepts: one that the client does not guess causes a HelloRetryRequest. */
  readonly curve?: string;
  readonly host?: string;
}

/** How long the server really took to send the head and the rest of a response that stalls: on a busy machine longer than requested. */
export interface ActualStall {
  readonly waitMs: number;
  readonly stallMs: number;
}

const report = (stall: ActualStall) => parentPort?.postMessage(stall);

const { kind, identity, maxVersion, curve, host = '127.0.0.1' } = workerData as WireTargetOptions;

/**
 * `/hold/MS` responds after that time, `/parts/COUNT/MS` sends pieces of 64 KiB with pauses, `/stall/MS/MS` sends its
 * head after the first time and its body after the second.
 */
const answer: RequestListener = async (request: IncomingMessage, response) => {
  const [, what, first, second] = (request.url ?? '').split('/');
  if (what === 'hold') await delay(Number(first));
  if (what === 'stall') {
    const startMs = performance.now();
    await delay(Number(first));
    response.flushHeaders();
    const headMs = performance.now();
    await delay(Number(second));
    report({ waitMs: headMs - startMs, stallMs: performance.now() - headMs });
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

/** A gRPC call: headers after 20 ms and the message 600 ms later; the health service reports SERVING. */
const answerCall = async (stream: ServerHttp2Stream) => {
  stream.on('error', () => stream.destroy()).resume();
  // A client that has to wait for a processor may send head and message apart.
  await once(stream, 'end');
  const startMs = performance.now();
  await delay(20);
  const headMs = performance.now();
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  await delay(600);
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  report({ waitMs: headMs - startMs, stallMs: performance.now() - headMs });
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

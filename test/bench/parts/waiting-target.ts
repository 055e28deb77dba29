/**
 * The target of the accuracy benchmark, in a process of its own: an HTTP and an HTTPS server (ECDSA P-256, TLS 1.3)
 * that wait before they respond, a gRPC server without TLS, whose paths are in the metadata `path`, a server of TLS
 * alone, whose paths are the first labels of server names, and a WebSocket server that sends a message 20 ms after the
 * handshake. Prints `{"http": PORT, "https": PORT, "grpc": PORT, "ssl": PORT, "ws": PORT}`. For each line it reads it
 * prints, as one line of JSON, the client port of each path requested since the last one, which joins a probe to the
 * packets of its connection.
 *
 * Usage: node waiting-target.ts ADDRESS WAIT_MS
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { createServer as createBareTlsServer } from 'node:tls';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const [address = '127.0.0.1', waitMs = '100'] = process.argv.slice(2);
const body = 'x'.repeat(500);
const messageAfterMs = 20;
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
let portByPath: Record<string, number> = {};

function serve(request: IncomingMessage, response: ServerResponse): void {
  portByPath[request.url ?? ''] = request.socket.remotePort ?? 0;
  setTimeout(() => response.writeHead(200, { 'content-length': body.length }).end(body), Number(waitMs));
}

const authority = await createAuthority('Picket benchmark');
const certificate = await authority.issue({ hosts: [address] });
const http = await listening(createServer(serve));
const https = await listening(createTlsServer({ ...certificate, minVersion: 'TLSv1.3' }, serve));
const grpc = await listening(
  createHttp2Server().on('stream', (stream, headers) => {
    portByPath[String(headers['path'])] = stream.session?.socket.remotePort ?? 0;
    stream.on('error', () => stream.destroy()).resume();
    setTimeout(() => {
      if (stream.destroyed) return;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      // The health service's response that it is serving.
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    }, Number(waitMs));
  }),
);
const named = await authority.issue({ hosts: ['*.bench.test'] });
const ssl = await listening(
  createBareTlsServer({ ...named, minVersion: 'TLSv1.3' }, (socket) => {
    const [label = ''] = String(socket.servername).split('.', 1);
    portByPath[`/${label}`] = socket.remotePort ?? 0;
    // No request follows: the monitor closes the connection.
    socket.on('error', () => socket.destroy()).resume();
  }),
);
const ws = await listening(
  createServer().on('upgrade', (request: IncomingMessage, socket: Socket) => {
    portByPath[request.url ?? ''] = request.socket.remotePort ?? 0;
    const hash = createHash('sha1').update(`${request.headers['sec-websocket-key']}${acceptSuffix}`);
    const accept = `Sec-WebSocket-Accept: ${hash.digest('base64')}\r\n\r\n`;
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
    socket.on('error', () => socket.destroy());
    after(Number(waitMs), () => {
      socket.write(`${head}${accept}`);
      after(messageAfterMs, () => socket.write(Buffer.from('\x81\x05hello', 'latin1')));
    });
    // The monitor closes, and so does this server, with 1000.
    socket.once('data', () => socket.end(Buffer.from([0x88, 2, 3, 0xe8])));
  }),
);
console.log(JSON.stringify({ http, https, grpc, ssl, ws }));
for await (const _line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(portByPath));
  portByPath = {};
}
process.exit(0);

function listening(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  return new Promise((resolve) => {
    server.listen({ host: address, port: 0, backlog: 1024 }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

/**
 * Timers in a busy loop start in the past: one that fires early would put the response before the silence that marks
 * it.
 */
function after(ms: number, work: () => void): void {
  const endMs = performance.now() + ms;
  const wait = () => {
    const leftMs = endMs - performance.now();
    if (leftMs > 0) setTimeout(wait, Math.ceil(leftMs));
    else work();
  };
  wait();
}

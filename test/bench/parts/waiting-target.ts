/**
 * The target of the accuracy benchmark, a process of its own: an HTTP and an HTTPS server (ECDSA P-256, TLS 1.3) that wait
 * before they answer, one of gRPC without TLS, whose paths are in the metadata `path`, and one of TLS alone, whose paths are the first labels of
 * names. Prints `{"http": PORT, "https": PORT, "grpc": PORT, "ssl": PORT}`. For each line it reads it prints, as one line of JSON, from
 * which port each path was asked for since the last one, which joins a probe to the packets of its connection.
 *
 * Usage: node waiting-target.ts ADDRESS WAIT_MS
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createInterface } from 'node:readline';
import { createServer as createBareTlsServer } from 'node:tls';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const [address = '127.0.0.1', waitMs = '100'] = process.argv.slice(2);
const body = 'x'.repeat(500);
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
      // The health service's answer that it serves.
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    }, Number(waitMs));
  }),
);
const named = await authority.issue({ hosts: ['*.bench.test'] });
const ssl = await listening(
  createBareTlsServer({ ...named, minVersion: 'TLSv1.3' }, (socket) => {
    const [label = ''] = String(socket.servername).split('.', 1);
    portByPath[`/${label}`] = socket.remotePort ?? 0;
    // Nothing is asked: the monitor closes.
    socket.on('error', () => socket.destroy()).resume();
  }),
);
console.log(JSON.stringify({ http, https, grpc, ssl }));
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

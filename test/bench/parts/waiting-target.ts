/**
 * The target of the accuracy benchmark, a process of its own: an HTTP and an HTTPS server (ECDSA P-256, TLS 1.3) that wait
 * before they answer, and one of TLS alone, whose paths are the first labels of names. Prints `{"http": PORT, "https": PORT, "ssl": PORT}`. For each line it reads it prints, as one line of JSON, from
 * which port each path was asked for since the last one, which joins a probe to the packets of its connection.
 *
 * Usage: node waiting-target.ts ADDRESS WAIT_MS
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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
const named = await authority.issue({ hosts: ['*.bench.test'] });
const ssl = await listening(
  createBareTlsServer({ ...named, minVersion: 'TLSv1.3' }, (socket) => {
    const [label = ''] = String(socket.servername).split('.', 1);
    portByPath[`/${label}`] = socket.remotePort ?? 0;
    // Nothing is asked: the monitor closes.
    socket.on('error', () => socket.destroy()).resume();
  }),
);
console.log(JSON.stringify({ http, https, ssl }));
for await (const _line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(portByPath));
  portByPath = {};
}
process.exit(0);

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen({ host: address, port: 0, backlog: 1024 }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

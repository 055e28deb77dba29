/**
 * The targets of the benchmarks with all check types, in a process of its own: an HTTP server, the same over TLS, a TCP server that
 * accepts and closes, and a DNS server with one address for every name. Also a TCP port and a UDP port that accept
 * everything and never respond. Prints `{"http": PORT, "https": PORT, "tcp": PORT, "dns": PORT, "silentTcp": PORT, "silentUdp":
 * PORT}`.
 */
import { createSocket } from 'node:dgram';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import * as dnsPacket from 'dns-packet';
import { createAuthority } from '../../helpers/targets/certificates.ts';

const body = `<!doctype html>${'x'.repeat(500)}`;
const address = '127.0.0.1';

const page: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': body.length }).end(body);
};
const http = await listening(createHttpServer(page));
const authority = await createAuthority();
const https = await listening(createHttpsServer(await authority.issue(), page));
const tcp = await listening(
  createServer((socket) => {
    // A prober may close its connection in any way.
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.on('end', () => socket.end());
  }),
);
const silentTcp = await listening(
  createServer((socket) => void socket.on('error', () => socket.destroy()).resume()),
);
const silent = createSocket('udp4');
await new Promise<void>((resolve) => silent.bind(0, address, resolve));
const dns = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
dns.on('message', (message, { address: from, port }) => {
  const { id, questions = [] } = dnsPacket.decode(message);
  const answers = questions.map(({ name }) => ({ type: 'A' as const, name, ttl: 60, data: '192.0.2.1' }));
  const flags = dnsPacket.AUTHORITATIVE_ANSWER | dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;
  dns.send(
    dnsPacket.encode({ type: 'response', ...(id !== undefined && { id }), flags, questions, answers }),
    port,
    from,
  );
});
dns.bind(0, address, () => {
  const ports = { http, https, tcp, dns: dns.address().port, silentTcp, silentUdp: silent.address().port };
  console.log(JSON.stringify(ports));
});
process.on('SIGTERM', () => process.exit(0));

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen({ port: 0, host: address, backlog: 1024 }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

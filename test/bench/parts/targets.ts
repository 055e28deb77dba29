/**
 * The targets of the benchmarks with all check types, in a process of its own: an HTTP server, a TCP server that
 * accepts and closes, and a DNS server with one address for every name. Also a TCP port and a UDP port that accept
 * everything and never respond. Prints `{"http": PORT, "tcp": PORT, "dns": PORT, "silentTcp": PORT, "silentUdp":
 * PORT}`.
 */
import { createSocket } from 'node:dgram';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import * as dnsPacket from 'dns-packet';

const body = `<!doctype html>${'x'.repeat(500)}`;
const address = '127.0.0.1';

const http = await listening(
  createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': body.length }).end(body);
  }),
);
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
  const ports = { http, tcp, dns: dns.address().port, silentTcp, silentUdp: silent.address().port };
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

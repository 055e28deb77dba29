/**
 * The target of the benchmarks, in a process of its own: responds to every GET with a small page at once. Prints its
 * port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = `<!doctype html>${'x'.repeat(500)}`;
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html', 'content-length': body.length }).end(body);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.on('SIGTERM', () => process.exit(0));

/**
 * The targets that the sample monitors of `npm start` watch: a small web shop on loopback with the good and bad habits of
 * real sites. Runs as a process of its own, so that its work is not the agent's. Prints its ports as one JSON line.
 *
 * Usage: node sample-targets.ts HTTP_PORT HTTPS_PORT (0 for any free port)
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../test/helpers/targets/certificates.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

let visits = 0;

const pages: Record<string, Handler> = {
  '/': (_request, response) => html(response, 200, '<h1>The shop is open</h1>'),
  '/old': (_request, response) => redirect(response, '/moved'),
  '/moved': (_request, response) => redirect(response, '/'),
  '/api/orders': async (_request, response) => {
    await delay(40 + Math.random() * 60);
    json(response, 200, {
      orders: [
        { id: 17, paid: true },
        { id: 18, paid: true },
      ],
      total: 2,
    });
  },
  '/api/search': async (_request, response) => {
    await delay(650 + Math.random() * 200);
    json(response, 200, { hits: 3 });
  },
  '/api/login': async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as { user?: string };
    json(response, body.user ? 200 : 401, { user: body.user ?? null, roles: ['buyer'] });
  },
  '/report': (_request, response) => html(response, 503, 'The report server is down'),
  // Fails every third visit: shows an ATTEMPT that a retry turns into a FINAL that passed.
  '/flaky': (_request, response) => {
    visits += 1;
    html(response, visits % 3 === 0 ? 500 : 200, 'now and then');
  },
};

const handle: Handler = async (request, response) => {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  const page = pages[path];
  if (page) await page(request, response);
  else html(response, 404, 'No such page');
};

const [httpPort, httpsPort] = process.argv.slice(2).map(Number);
const authority = await createAuthority('The shop’s own CA');
const certificate = await authority.issue();
const http = createHttpServer((request, response) => void handle(request, response));
const https = createHttpsServer(certificate, (request, response) => void handle(request, response));
const ports = { http: await listen(http, httpPort ?? 0), https: await listen(https, httpsPort ?? 0) };
console.log(JSON.stringify(ports));
process.on('SIGTERM', () => process.exit(0));

async function listen(server: Server, port: number): Promise<number> {
  const bind = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await bind(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' || port === 0) throw error;
    return bind(0);
  });
  return (server.address() as AddressInfo).port;
}

function html(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end(`<!doctype html>${text}`);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}

/**
 * The targets of the sample monitors of `npm start`: a small web shop on loopback with the good and bad habits of real
 * sites. Runs in a process of its own, so that its work is not the agent's. Prints its ports as one JSON line, with the
 * certificate of its authority.
 *
 * Usage: node sample-targets.ts HTTP_PORT HTTPS_PORT RESET_PORT EXPIRED_PORT OTHER_HOST_PORT (0 for any free port)
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../test/helpers/targets/certificates.ts';
import { listen, startBrokenTargets } from './broken-targets.ts';

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
  '/api/invoices': (_request, response) => json(response, 200, { invoices: [{ id: 4, paid: false }] }),
  // The connection is fast, the first byte is slow.
  '/api/stock': async (_request, response) => {
    await delay(2_500);
    json(response, 200, { items: 12 });
  },
  '/report': (_request, response) => html(response, 503, 'The report server is down'),
  // Two of three visits fail: shows an ATTEMPT that a retry turns into a passed FINAL.
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

const [httpPort, httpsPort, reset = 0, expired = 0, otherHost = 0] = process.argv.slice(2).map(Number);
const authority = await createAuthority('The shop’s own CA');
const certificate = await authority.issue();
const http = createHttpServer((request, response) => void handle(request, response));
const https = createHttpsServer(certificate, (request, response) => void handle(request, response));
const broken = await startBrokenTargets({ reset, expired, otherHost });
const ports = {
  http: await listen(http, httpPort ?? 0),
  https: await listen(https, httpsPort ?? 0),
  ...broken.ports,
};
console.log(JSON.stringify({ ports, authority: broken.authority }));
process.on('SIGTERM', () => process.exit(0));

function html(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end(`<!doctype html>${text}`);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}

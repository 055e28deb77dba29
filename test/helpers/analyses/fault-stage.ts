import { createServer as createTcpServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { HostResolver } from '../../../src/probes/dns/host/host-resolver.ts';
import type { StoredRun } from '../../../src/service/analyses/evidence.ts';
import { a, answerTo, type DnsTestServer, startDnsServer } from '../dns/dns-server.ts';
import { createHostFiles, type HostFiles } from '../dns/host-files.ts';
import { createAuthority, type TestAuthority } from '../targets/certificates.ts';
import { type HttpTarget, startHttpsTarget, startHttpTarget } from '../targets/http-target.ts';
import { listen, type Target } from '../targets/listening.ts';
import { evidenceOf, realRun } from './real-runs.ts';

export let web: HttpTarget;
export let names: DnsTestServer;
let hostFiles: HostFiles;
export let authority: TestAuthority;
export let strange: TestAuthority;
let page = { status: 200, body: 'Basket\n3 items', headers: {} as Record<string, string>, delayMs: 0 };
let record = '192.0.2.1';
const targets: { close(): Promise<void> }[] = [];

export async function opened<T extends { close(): Promise<void> }>(target: Promise<T>): Promise<T> {
  const one = await target;
  targets.push(one);
  return one;
}

/** Starts targets that can be sound or have any fault of the tests. */
export async function startFaults(): Promise<void> {
  authority = await createAuthority();
  strange = await createAuthority('Authority of nobody');
  setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
  web = await opened(
    startHttpTarget({
      routes: {
        page: (_request, reply) => {
          setTimeout(() => {
            reply.writeHead(page.status, { 'content-type': 'text/plain', ...page.headers });
            reply.end(page.body);
          }, page.delayMs);
        },
        half: (_request, reply) => {
          reply.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
          reply.write('half');
        },
        ring: (request, reply) => {
          reply.writeHead(302, { location: request.path === '/ring/a' ? '/ring/b' : '/ring/a' });
          reply.end();
        },
      },
    }),
  );
  names = await opened(
    startDnsServer(async (query) => {
      const { name } = query.question;
      if (name === 'gone.test') return [answerTo(query, [], { rcode: 3 })];
      if (name === 'broken.test') return [answerTo(query, [], { rcode: 2 })];
      if (name === 'silent.test') return [];
      return [answerTo(query, [a(name, record)])];
    }),
  );
  hostFiles = createHostFiles(`nameserver ${names.nameserver}\noptions timeout:1 attempts:1\n`);
}

/** Closes the targets. */
export async function endFaults(): Promise<void> {
  await Promise.all(targets.map((target) => target.close()));
  hostFiles[Symbol.dispose]();
}

export const url = (body: object, context?: Parameters<typeof realRun>[2]) =>
  realRun('URL', body as never, context);
export const api = (body: object) => realRun('API', body as never);
export const dns = (body: object, context?: Parameters<typeof realRun>[2]) =>
  realRun('DNS', body as never, context);
export const tcp = (body: object) => realRun('TCP', body as never);
export const way = (body: object) => realRun('TRACEROUTE', body as never);
export const resolver = () => ({ resolver: new HostResolver(hostFiles), timeoutMs: 2500 });
export const toPage = (rest: object = {}) => ({ request: { url: `${web.url}/page`, ...rest } });

/** Runs the check on the sound page, then on a changed one. Returns the evidence about the failing run. */
export async function changed(
  change: Partial<typeof page>,
  run: () => Promise<StoredRun> = () => url(toPage()),
) {
  const passed = await run();
  if (passed.code !== null) throw new Error(`the page fails before it is changed: ${passed.message}`);
  return withPage(change, async () => evidenceOf(await run(), { passed: [passed] }));
}

export async function https(options: Parameters<TestAuthority['issue']>[0], of = authority): Promise<string> {
  const { url: at } = await opened(startHttpsTarget({ identity: await of.issue(options) }));
  return at.replace('127.0.0.1', 'localhost');
}

export async function tlsOf(onConnection: Parameters<typeof createTcpServer>[1]): Promise<Target> {
  return opened(listen(createTcpServer(onConnection), { scheme: 'https' }));
}

export const status = (code: number, headers: Record<string, string> = {}) =>
  changed({ status: code, headers, body: 'no' });
export const asserts = (source: string, property: string, comparison: string, target: string) => ({
  assertions: [{ source, property, comparison, target }],
});
export const authorized = { headers: [{ key: 'Authorization', value: 'Bearer abc' }] };
export const toApi = (rest: object = {}) => ({ request: { method: 'GET', url: `${web.url}/page`, ...rest } });

/** Changes the page while `work` runs. */
export async function withPage<T>(change: Partial<typeof page>, work: () => Promise<T>): Promise<T> {
  const before = page;
  page = { ...page, ...change };
  try {
    return await work();
  } finally {
    page = before;
  }
}

/** Changes the DNS record of every name while `work` runs. */
export async function withRecord<T>(address: string, work: () => Promise<T>): Promise<T> {
  const before = record;
  record = address;
  try {
    return await work();
  } finally {
    record = before;
  }
}

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SecretHttp } from '../../../../src/agent/references/http.ts';
import { outputOf } from '../../../../src/agent/references/providers/exec/command.ts';
import { startSocksTarget } from '../../../helpers/targets/socks-target.ts';
import { OpenReferences } from '../../../helpers/vaults/open-references.ts';
import { ProviderServer } from '../../../helpers/vaults/provider-server.ts';

// Providers, files and commands that misbehave: each is a reason, and none reaches a log with its content.
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hostile-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function problemOf(environment: Readonly<Record<string, string>>) {
  await using opened = new OpenReferences(environment);
  const { unavailable } = await opened.current();
  expect(opened.logged).not.toContain('leaked');
  return unavailable[0]?.problem;
}

it.each([
  ['no JSON', { status: 200, body: 'leaked <html>' }, { reason: 'UNUSABLE' }],
  ['another form', { status: 200, body: { data: 'leaked' } }, { reason: 'UNUSABLE' }],
  ['a deep document', { status: 200, body: '['.repeat(500_000) }, { reason: 'UNUSABLE' }],
  ['a large response', { status: 200, body: 'x'.repeat(2_000_000) }, { reason: 'TOO_LARGE' }],
  ['a long value', { status: 200, body: { data: { x: 'y'.repeat(200_000) } } }, { reason: 'TOO_LARGE' }],
  ['an empty value', { status: 200, body: { data: { x: '' } } }, { reason: 'UNUSABLE' }],
  ['a prototype', { status: 200, body: '{"data":{"__proto__":{"x":"leaked"}}}' }, { reason: 'NOT_FOUND' }],
  [
    'a redirect',
    { status: 307, headers: { location: 'http://127.0.0.1:1/' } },
    { reason: 'FAILED', status: 307 },
  ],
  ['an error page', { status: 502, body: '<h1>leaked</h1>' }, { reason: 'FAILED', status: 502 }],
])('a vault that answers with %s', async (_what, answer, problem) => {
  await using server = await ProviderServer.open(({ path }) =>
    path.includes('lookup-self') ? { status: 403 } : answer,
  );
  const found = await problemOf({
    VAULT_ADDR: server.url,
    VAULT_TOKEN: 'hvs.given-token',
    SECRET_FROM_A: 'vault:kv/data/app#x',
  });
  expect(found).toMatchObject(problem);
  expect(found?.message.length).toBeLessThanOrEqual(300);
});

it('a vault that closes the connection, or is not there', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const environment = {
    ...{ VAULT_ADDR: `http://127.0.0.1:${port}`, VAULT_TOKEN: 'hvs.given-token' },
    SECRET_FROM_A: 'vault:kv/data/app#x',
  };
  expect(await problemOf(environment)).toMatchObject({ reason: 'UNREACHABLE' });
  await new Promise((resolve) => server.close(resolve));
  expect(await problemOf(environment)).toMatchObject({ reason: 'UNREACHABLE' });
});

it('a provider that never answers, and a command that never ends, run into their limits', async () => {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { signal } = new AbortController();
  const http = new SecretHttp({}, 100);
  await expect(http.request({ url: `http://127.0.0.1:${port}/` }, signal)).rejects.toMatchObject({
    reason: 'TIMED_OUT',
    message: `127.0.0.1:${port} did not respond within 0.1 s`,
  });
  await http[Symbol.asyncDispose]();
  await new Promise((resolve) => server.close(resolve));
  await expect(outputOf('/bin/sleep', ['1000'], {}, signal, 100)).rejects.toMatchObject({
    reason: 'TIMED_OUT',
    message: 'the command did not end within 0.1 s',
  });
});

it('requests go through the proxy of the agent, those to the own host do not', async () => {
  const seen: string[] = [];
  const proxy = createHttpServer().on('connect', (request, socket) => {
    seen.push(String(request.url));
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const http = new SecretHttp({ https: proxyUrl, http: proxyUrl, except: 'vault.lan' });
  await expect(http.request({ url: 'https://secrets.example/' }, signal)).rejects.toMatchObject({
    reason: 'UNREACHABLE',
  });
  await expect(http.request({ url: 'http://127.0.0.1:1/', isLocal: true }, signal)).rejects.toThrow(
    'ECONNREFUSED',
  );
  expect(seen).toEqual(['secrets.example:443']);
  await http[Symbol.asyncDispose]();
  await new Promise((resolve) => proxy.close(resolve));
});

it('requests go through ALL_PROXY, also if that speaks SOCKS', async () => {
  await using proxy = await startSocksTarget({ reply: 2 });
  await using http = new SecretHttp({ all: proxy.url });
  const asked = http.request({ url: 'https://secrets.example/' }, new AbortController().signal);
  await expect(asked).rejects.toMatchObject({ reason: 'UNREACHABLE' });
  expect(proxy.requests).toEqual(['name secrets.example:443']);
});

it.each([
  ['/dev/zero', { reason: 'UNUSABLE' }],
  ['/proc/self', { reason: 'UNUSABLE' }],
  ['/nowhere/file', { reason: 'NOT_FOUND' }],
])('a path that is not a readable file: %s', async (path, problem) => {
  expect(await problemOf({ SECRET_FROM_A: `file:${path}` })).toMatchObject(problem);
});

it('a pipe without a writer, a loop of links, and a large file', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  expect(await problemOf({ SECRET_FROM_A: `file:${folder}/pipe` })).toMatchObject({ reason: 'UNUSABLE' });
  await symlink(join(folder, 'loop'), join(folder, 'loop'));
  expect(await problemOf({ SECRET_FROM_A: `file:${folder}/loop` })).toMatchObject({ reason: 'FAILED' });
  await writeFile(join(folder, 'large'), Buffer.alloc(1_100_000, 'x'));
  expect(await problemOf({ SECRET_FROM_A: `file:${folder}/large` })).toMatchObject({ reason: 'TOO_LARGE' });
});

it.each([
  ['prints without end', 'exec:/usr/bin/yes leaked', { reason: 'TOO_LARGE' }],
  ['prints nothing', 'exec:/bin/true', { reason: 'UNUSABLE' }],
  [
    'fails and writes to standard error',
    'exec:["/bin/sh","-c","echo leaked >&2; exit 3"]',
    { reason: 'FAILED', status: 3 },
  ],
  ['kills itself', 'exec:["/bin/sh","-c","kill -9 $$"]', { reason: 'FAILED' }],
  ['does not exist', 'exec:/nowhere/command', { reason: 'NOT_FOUND' }],
  ['is a folder', 'exec:/tmp', { reason: 'DENIED' }],
])('a command that %s', async (_what, reference, problem) => {
  expect(await problemOf({ SECRET_FROM_A: reference })).toMatchObject(problem);
});

it('a command that never ends ends with the agent, with its children', async () => {
  const pidFile = join(folder, 'pid');
  const opened = new OpenReferences({
    SECRET_FROM_A: `exec:["/bin/sh","-c","sleep 1000 & echo $! > ${pidFile}; wait"]`,
  });
  let pid = '';
  while (pid === '') pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
  await opened[Symbol.asyncDispose]();
  const stateOf = async () =>
    (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '1 (gone) Z')).split(' ')[2];
  while ((await stateOf()) !== 'Z') await setImmediate();
});

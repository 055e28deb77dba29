import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority, type KeyAndCertificate } from '../../helpers/targets/certificates.ts';
import { type HttpTarget, startHttpsTarget } from '../../helpers/targets/http-target.ts';

const runTimeoutMs = 40_000;
const question = { query: 'picket.test', recordType: 'A', nameServer: 'localhost' };

function answerTo(query: Buffer): Buffer {
  const { id, questions } = decode(query);
  const answers = [{ type: 'A' as const, name: 'picket.test', ttl: 60, data: '192.0.2.1' }];
  return encode({ type: 'response', id, flags: AUTHORITATIVE_ANSWER, questions, answers });
}

/** DNS over TLS (RFC 7858). */
async function startOverTls(identity: KeyAndCertificate): Promise<Server> {
  const server = createServer({ ...identity, ALPNProtocols: ['dot'] }, (socket) => {
    socket.once('data', (chunk: Buffer) => {
      const answer = answerTo(chunk.subarray(2));
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      socket.end(Buffer.concat([length, answer]));
    });
  });
  return await listening(server);
}

/** DNS over HTTPS (RFC 8484). */
async function startOverHttps(identity: KeyAndCertificate): Promise<Server> {
  const server = createHttpsServer(identity, (request, response) => {
    request.once('data', (query: Buffer) => {
      response.writeHead(200, { 'content-type': 'application/dns-message' }).end(answerTo(query));
    });
  });
  return await listening(server);
}

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/**
 * The service and targets have certificates of a private authority; agents know it through CA_CERTS_DIR only, or not at
 * all.
 */
describe('CA_CERTS_DIR', () => {
  const folder = temporaryFolder();
  // The users of sandboxes must be able to traverse it.
  const scripts = temporaryFolder();
  const authorities = join(folder.path, 'authorities');
  let service: FakeService;
  let target: HttpTarget;
  let overTls: Server;
  let overHttps: Server;
  let missingRuntimes: string | undefined;
  let missingBrowser: string | undefined;
  let agent: AgentProcess;

  function startAgent(environment: Readonly<Record<string, string>> = {}): AgentProcess {
    return new AgentProcess({
      SERVICE_URL: service.url,
      SPOOL_DIR: join(folder.path, 'spool'),
      SCRIPTS_DIR: scripts.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
      ...environment,
    });
  }

  async function run(checkType: string, spec: Record<string, unknown>) {
    const check = { id: crypto.randomUUID(), name: 'Test', checkType, spec };
    const leased = leasedRun('', { check });
    service.enqueue(leased);
    return await service.waitFor('the result', () => service.resultOf(leased.runId), runTimeoutMs);
  }

  beforeAll(async () => {
    const authority = await createAuthority('Private root');
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'private.pem'), authority.cert);
    writeFileSync(
      join(authorities, 'broken.pem'),
      '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n',
    );
    service = new FakeService(await authority.issue());
    await service.listen();
    target = await startHttpsTarget({ identity: await authority.issue() });
    overTls = await startOverTls(await authority.issue());
    overHttps = await startOverHttps(await authority.issue());
    const runtimes = await readRuntimes(runtimesDirectory);
    if (runtimes.ids.length === 0) missingRuntimes = 'no runtime is installed: npm run runtimes:install';
    try {
      const unpackedPath = unpackedChromiumPath(runtimesDirectory);
      await findBrowser({ chromiumPath: process.env.CHROMIUM_PATH, unpackedPath });
    } catch (thrown) {
      missingBrowser = String(thrown);
    }
    agent = startAgent({ CA_CERTS_DIR: authorities, RUNTIMES_DIR: runtimesDirectory });
    await agent.logged('connected to the service');
    if (!missingRuntimes) await agent.logged('script sandbox ready', 90_000);
  }, 180_000);

  afterAll(async () => {
    await agent?.kill();
    overTls?.close();
    overHttps?.close();
    await target?.close();
    await service?.close();
    folder.remove();
    scripts.remove();
  }, 180_000);

  function needsRuntime(context: TestContext) {
    if (missingRuntimes) context.skip(missingRuntimes);
  }

  it('is reported with its certificates, and an unusable file is reported', async () => {
    const { authorities: subjects } = await agent.logged('trusting custom CA certificates');
    expect(subjects).toEqual(['CN=Private root']);
    const told = await agent.logged('unusable file in CA_CERTS_DIR');
    expect(told).toMatchObject({ file: 'broken.pem', reason: 'cannot be parsed as a certificate' });
  });

  it.each([
    ['URL', () => ({ request: { url: `${target.url}/` } })],
    ['API', () => ({ request: { url: `${target.url}/`, method: 'GET' } })],
    [
      'TCP',
      () => ({
        request: { hostname: 'localhost', port: target.port, useSSL: true, data: 'GET / HTTP/1.0\r\n\r\n' },
      }),
    ],
    ['DNS', () => ({ request: { ...question, protocol: 'DOT', port: portOf(overTls) } })],
    ['DNS', () => ({ request: { ...question, protocol: 'DOH', port: portOf(overHttps) } })],
  ])('makes a %s check trust its target', async (checkType, spec) => {
    expect(await run(checkType, spec())).toMatchObject({ failure: null });
  });

  it('makes requests of scripts trust it: of Playwright, of Node and of their child processes', async (context) => {
    needsRuntime(context);
    const script = `
      import { test, expect } from '@playwright/test';
      import { execFileSync } from 'node:child_process';
      test('all', async ({ request }) => {
        expect((await request.get('${target.url}/')).ok()).toBe(true);
        expect((await fetch('${target.url}/')).ok).toBe(true);
        const program = "fetch('${target.url}/').then((answer) => console.log(answer.status))";
        expect(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })).toContain('200');
      });`;
    expect(await run('MULTI_STEP', { script })).toMatchObject({ failure: null });
  });

  it('makes the browser trust it, but no certificate for another host', async (context) => {
    needsRuntime(context);
    if (missingBrowser) context.skip(missingBrowser);
    const elsewhere = `https://127.0.0.2:${target.port}/`;
    const script = `
      import { test, expect } from '@playwright/test';
      test('page', async ({ page }) => {
        expect((await page.goto('${target.url}/')).ok()).toBe(true);
        await expect(page.goto('${elsewhere}')).rejects.toThrow(/ERR_CERT_COMMON_NAME_INVALID|ERR_CONNECTION/);
      });`;
    expect(await run('BROWSER', { script })).toMatchObject({ failure: null });
  });

  it('makes the difference: without it the service is refused', async () => {
    await service.waitFor('a poll that waits', () => service.callsOf('claim').length > 0);
    await agent.kill();
    const before = service.callsOf('claim').length;
    const other = startAgent();
    try {
      const refused = await other.logged('failed to claim work');
      expect(JSON.stringify(refused)).toContain('CA_CERTS_DIR');
      expect(service.callsOf('claim').length).toBe(before);
    } finally {
      await other.kill();
    }
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withResolver } from '../../../scripts/start/branch.ts';
import { listen, startBrokenTargets, startStarvingTarget } from '../../../scripts/start/broken-targets.ts';
import { type SampleCheck, sampleChecks, troubledChecks } from '../../../scripts/start/sample-checks.ts';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { answerTo, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { freePort } from '../../helpers/free-port.ts';
import { until } from '../../helpers/picket-process.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../../helpers/service/service.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

/** The failures that `npm start` shows, by name: the cause in words, and the owner. */
const explained: readonly (readonly [name: string, words: RegExp, owner: string])[] = [
  ['Partner: its name does not exist', /name does not exist/i, 'the target'],
  ['Warehouse: nobody listens', /refused the connection/, 'the target'],
  ['Printer: breaks off', /closed the connection unexpectedly/, 'the target'],
  ['Archive: certificate is expired', /expired/, 'the target'],
  ['Forum: certificate of another host', /for another name|other\.example/, 'the target'],
  ['Stock API: first byte comes late', /2000/, 'the target'],
  ['Reports: answers 503', /503/, 'the target'],
  ['Invoices API: one is unpaid', /paid/, 'the target'],
  ['Branch office: its resolver is away', /resolver|name server/i, 'the location, not the target'],
  ['Branch office: its agent gets no time', /agent itself was \d+ ms late/, 'agent, not the target'],
];

const noNamespaces = whyNoNamespaces();

describe.skipIf(noNamespaces)('ten broken targets, watched by real agents', () => {
  const resources = new AsyncDisposableStack();
  let harness: ServiceHarness;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    harness = await openHarness();
    resources.defer(() => harness.close());
    url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    const folder = temporaryFolder();
    resources.defer(() => folder.remove());

    const broken = await startBrokenTargets();
    resources.defer(() => broken.close());
    // The failing pages of the shop, served over HTTP.
    const shop = createServer(({ url: path }, response) => {
      if (path === '/report') response.writeHead(503).end('The report server is down');
      else if (path === '/api/stock') setTimeout(() => response.end('{"items":12}'), 2_500);
      else response.setHeader('content-type', 'application/json').end('{"invoices":[{"paid":false}]}');
    });
    const http = await listen(shop, 0);
    resources.defer(() => void shop.close());
    mkdirSync(join(folder.path, 'ca'));
    writeFileSync(join(folder.path, 'ca/samples.crt'), broken.authority);

    // A name server without any names, and a mount namespace with that server as the resolver.
    const names = await startDnsServer((query) => [answerTo(query, [], { rcode: 3 })]);
    resources.use(names);
    const agentAt = async (place: string, resolver: string): Promise<AgentProcess> => {
      const location = await createLocation(harness, place);
      const resolvConf = join(folder.path, `${place}.conf`);
      writeFileSync(resolvConf, `nameserver ${resolver}\noptions timeout:1 attempts:1\n`);
      const environment = { API_KEY: location.key, SERVICE_URL: url, CA_CERTS_DIR: join(folder.path, 'ca') };
      const agent = new AgentProcess(environment, [], withResolver(resolvConf));
      resources.defer(async () => {
        agent.child.kill('SIGKILL');
        await agent.exited;
      });
      return agent;
    };
    await agentAt('here', names.nameserver);
    const branch = await agentAt('branch', '127.0.0.253');
    const starving = await startStarvingTarget((isHeld) => branch.child.kill(isHeld ? 'SIGSTOP' : 'SIGCONT'));
    resources.defer(() => starving.close());

    const ports = { ...broken.ports, http, https: 0, closed: await freePort() };
    const add = async ({ route, body }: SampleCheck, place: string) => {
      const { status } = await harness.call('POST', `/v1/checks/${route}`, {
        ...body,
        privateLocations: [place],
      });
      expect(status, body.name).toBe(201);
    };
    const isExplained = ({ body }: SampleCheck) => explained.some(([name]) => name === body.name);
    for (const check of sampleChecks(ports).filter(isExplained)) await add(check, 'here');
    for (const check of troubledChecks({ http, starving: starving.port })) await add(check, 'branch');
    harness.startScheduler();
    harness.startLeaseSweep();
    const { executablePath } = await findBrowser({ unpackedPath: undefined });
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    resources.defer(() => browser.close());
    const isBad = ({ hasFailures, hasErrors }: { hasFailures: boolean; hasErrors: boolean }) =>
      hasFailures || hasErrors;
    await until(
      'each of them failed',
      async () => {
        const { body } = await harness.call('GET', '/v1/check-statuses');
        return body.filter(isBad).length === explained.length;
      },
      { timeoutMs: 180_000 },
    );
  }, 240_000);
  afterAll(() => resources.disposeAsync());

  it('each shows from the overview what failed and, one click further, who is at fault', async () => {
    const { body } = await harness.call('POST', '/login/links');
    const page = await browser.newPage();
    await page.goto(`${url}${body.path}`);
    for (const [name, words, owner] of explained) {
      await page.goto(`${url}/`);
      const row = page.locator('tr.check', { has: page.getByRole('link', { name, exact: true }) });
      expect(await row.locator('.cause').innerText(), name).toMatch(words);
      await row.locator('.cause a').first().click();
      await page.waitForURL(/\/runs\//);
      const verdict = await page.locator('.verdict').innerText();
      expect(verdict, name).toMatch(words);
      expect(verdict, name).toContain(owner);
    }
    await page.close();
  });
});

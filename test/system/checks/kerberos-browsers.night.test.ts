import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExaminedSettings } from '../../../src/agent/doctor/environment.ts';
import type { ExaminedAgent } from '../../../src/agent/doctor/examination.ts';
import { kerberos } from '../../../src/agent/doctor/probing.ts';
import { createRunLog } from '../../../src/checks/contract/run-log.ts';
import { fetchBrowserTickets } from '../../../src/checks/kerberos/browser-tickets.ts';
import type { KerberosSettings } from '../../../src/checks/kerberos/settings.ts';
import { readTicketFile } from '../../../src/checks/kerberos/ticket-file.ts';
import { program, programEnvironment } from '../../helpers/program.ts';
import { linkRuntime, type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';
import { type Apache, startApache, whyNoApache } from '../../helpers/targets/apache.ts';
import {
  type KerberosRealm,
  startKerberosRealm,
  whyNoKerberos,
} from '../../helpers/targets/kerberos-realm.ts';

const skipReason = whyNoKerberos() ?? whyNoApache(['auth_gssapi'], 'apache2, libapache2-mod-auth-gssapi');
const minute = 60_000;

describe.skipIf(skipReason)(`browsers log in at Apache by Kerberos ${skipReason ?? ''}`, () => {
  let realm: KerberosRealm;
  let apache: Apache;
  let identity: KerberosSettings;
  let stage: SuiteStage;
  let url: string;
  beforeAll(async () => {
    realm = await startKerberosRealm();
    const keytab = realm.addPrincipal('monitor');
    const serverKeytab = realm.addPrincipal('HTTP/localhost');
    apache = await startApache({
      modules: ['auth_gssapi'],
      files: { 'index.html': '<title>Intranet</title>in' },
      env: () => ({ KRB5_CONFIG: realm.configFile }),
      directives: (folder) => `
        <Directory ${folder}>
          AuthType GSSAPI
          AuthName intranet
          GssapiAllowedMech krb5
          GssapiCredStore keytab:${serverKeytab}
          Require valid-user
        </Directory>`,
    });
    url = `http://localhost:${apache.port}/index.html`;
    identity = {
      ...{ keytab, principal: undefined, ticketCache: undefined },
      ...{ configFile: realm.configFile, servers: [], browserServers: ['localhost'] },
    };
    stage = await startSuiteStage({ loginServers: ['localhost'] });
  });
  afterAll(async () => {
    await stage?.close();
    await apache?.[Symbol.asyncDispose]();
    await realm?.[Symbol.asyncDispose]();
  });

  const test = (status: number) => `import { test, expect } from '@playwright/test';
    test('opens the intranet', async ({ page }) => {
      const answer = await page.goto('${url}');
      expect(answer.status()).toBe(${status});
    });`;
  const plain = (status: number) => `const { chromium } = require('playwright');
    const browser = await chromium.launch();
    const answer = await (await browser.newPage()).goto('${url}');
    await browser.close();
    if (answer.status() !== ${status}) throw new Error(String(answer.status()));`;

  it.each([
    ['a test', test],
    ['a plain script', plain],
  ])('in %s, with tickets only', { timeout: 4 * minute }, async (_, script) => {
    const { runBrowser } = stage.scripts;
    const context = { kerberos: identity };
    expect((await runBrowser(script(200), { context })).outcome.failure).toBeUndefined();
    expect((await runBrowser(script(401))).outcome.failure).toBeUndefined();
  });

  it('in a suite', { timeout: 4 * minute }, async () => {
    const spec = { ...linkRuntime(stage), browsers: ['chromium'] };
    const { outcome } = await stage.run(
      { 'a.spec.ts': test(200) },
      { spec, context: { kerberos: identity } },
    );
    expect(outcome.failure).toBeUndefined();
  });

  it('in the sandbox of picket run', { timeout: 4 * minute }, async () => {
    const file = join(apache.folder, 'check.json');
    writeFileSync(file, JSON.stringify({ checkType: 'BROWSER', name: 'Intranet', script: test(200) }));
    const env = {
      ...programEnvironment,
      ...{ KERBEROS_KEYTAB: identity.keytab, KERBEROS_CONFIG: realm.configFile },
      ...{ KERBEROS_BROWSER_SERVERS: 'localhost', EGRESS_ALLOW: '127.0.0.1' },
    };
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'run', file], { env });
    expect(stdout).toContain('PASSED');
  });

  it('with tickets for the named servers and nothing else, for an hour at most', async () => {
    const signal = AbortSignal.timeout(minute);
    const { login, servers, endsAtMs } = await fetchBrowserTickets(identity, signal);
    expect(servers).toEqual(['localhost']);
    expect(endsAtMs).toBeLessThanOrEqual(Date.now() + 61 * minute);
    const { tickets } = readTicketFile(login?.tickets ?? Buffer.alloc(0));
    expect(tickets.map(({ server }) => server)).toEqual(['HTTP/localhost']);
    const cached = {
      ...{ ...identity, keytab: undefined },
      ticketCache: realm.ticketFor('monitor', identity.keytab ?? ''),
    };
    expect(await fetchBrowserTickets(cached, signal)).toMatchObject({ servers: ['localhost'], problems: [] });
  });

  it('as the doctor foretells', async () => {
    const { settings } = readExaminedSettings({ API_KEY: 'pl_0', SERVICE_URL: 'http://a.test' });
    const browserServers = ['localhost', 'unknown.test'];
    const patient = {
      settings: { ...settings, kerberos: { ...identity, browserServers } },
      signal: new AbortController().signal,
    };
    const about = 'KERBEROS_BROWSER_SERVERS';
    expect([await kerberos.examine(patient as unknown as ExaminedAgent)].flat()).toMatchObject([
      { status: 'ok' },
      { status: 'problem', about, fix: expect.stringContaining('HTTP/unknown.test') },
      { status: 'ok', about, detail: 'browsers have tickets for localhost' },
    ]);
  });

  it('or say why not', { timeout: 4 * minute }, async () => {
    const log = createRunLog();
    const other = { ...identity, browserServers: ['unknown.test'] };
    const { outcome } = await stage.scripts.runBrowser(test(401), { context: { kerberos: other, log } });
    expect(outcome.failure).toBeUndefined();
    expect(JSON.stringify(log.entries)).toContain('no Kerberos ticket for unknown.test');
  });
});

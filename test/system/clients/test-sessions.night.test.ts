import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { runCommandLine } from '../../helpers/clients/command-line.ts';
import { installedClients } from '../../helpers/clients/installed-clients.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { registryVariables } from '../../helpers/scripts/suite-stage.ts';
import {
  createLocation,
  openHarness,
  type ServiceHarness,
  temporaryFolder,
} from '../../helpers/service/service.ts';
import { commandOf, commandsRunIn } from './command-table.ts';

/** Commands that succeeded. */
const ran = new Set<string>();

const project: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shop", "private": true, "type": "module" }',
  'package-lock.json': '{ "name": "shop", "lockfileVersion": 3, "packages": { "": { "name": "shop" } } }',
  'checkly.config.ts': `import { defineConfig } from 'checkly';
    export default defineConfig({
      projectName: 'Shop', logicalId: 'shop',
      checks: { checkMatch: '**/*.check.ts', browserChecks: { testMatch: '**/*.spec.ts' }, runtimeId: '2025.04' },
      cli: { privateRunLocation: 'lab' },
    });`,
  'src/api.check.ts': `import { ApiCheck, AssertionBuilder, CheckGroupV2, StatusPageService, UrlMonitor } from 'checkly/constructs';
    const group = new CheckGroupV2('shop', { name: 'Shop', tags: ['shop'], environmentVariables: [{ key: 'GROUPED', value: 'yes' }] });
    const url = process.env.TARGET;
    new ApiCheck('orders', { name: 'Orders', group, setupScript: { entrypoint: './lib/sign.ts' },
      request: { method: 'GET', url: url + '/orders?grouped={{GROUPED}}&from={{FROM}}', assertions: [AssertionBuilder.statusCode().equals(200)] } });
    new UrlMonitor('home', { name: 'Home page', request: { url: url + '/' } });
    const service = new StatusPageService('web', { name: 'Web' });
    const triggerIncident = { service, severity: 'MAJOR', name: 'Down', description: 'It is down', notifySubscribers: false };
    new UrlMonitor('gone', { name: 'Gone page', triggerIncident, request: { url: url + '/gone' } });`,
  'src/lib/sign.ts': `import { signature } from './signature';
    console.log('signing');
    request.headers['x-signature'] = signature('orders');`,
  'src/lib/signature.ts': `export function signature(name: string): string { return 'signed-' + name; }`,
  'src/home.spec.ts': `import { expect, test } from '@playwright/test';
    import { heading } from './lib/heading';
    test('the shop opens', async ({ page }) => {
      await page.goto(process.env.TARGET_URL!);
      await expect(page.locator('h1')).toHaveText(heading);
    });`,
  'src/lib/heading.ts': `export const heading = 'Shop';`,
  'src/looks.spec.ts': `import { expect, test } from '@playwright/test';
    test('the shop looks as it did', async ({ page }) => {
      await page.goto(process.env.TARGET_URL!);
      await expect(page).toHaveScreenshot('shop.png');
    });`,
};

const suite: Readonly<Record<string, string>> = {
  'playwright.config.ts': `import { defineConfig } from '@playwright/test';
    export default defineConfig({ testDir: './tests', projects: [{ name: 'chromium' }] });`,
  'tests/shop.spec.ts': `import { expect, test } from '@playwright/test';
    test('opens the shop', async ({ page }) => {
      await page.goto(process.env.TARGET_URL!);
      await expect(page.locator('h1')).toHaveText('Shop');
    });
    test('is not asked for', () => { throw new Error('it was run'); });`,
  'checkly.config.ts': `import { defineConfig } from 'checkly';
    export default defineConfig({ projectName: 'Suite', logicalId: 'suite', cli: { privateRunLocation: 'lab' } });`,
};

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

describe('the command line from the registry, a real service, a real agent', () => {
  let harness: ServiceHarness;
  let url: string;
  let agent: AgentProcess;
  let missing: string | undefined;
  const asked: string[] = [];
  let words = '';
  const folder = mkdtempSync(join(tmpdir(), 'picket-shop-'));
  const scripts = temporaryFolder();
  const spool = temporaryFolder();
  const target = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers['x-signature'] ?? ''}`.trim());
    response.writeHead(request.url === '/gone' ? 410 : 200, { 'content-type': 'text/html' });
    response.end(`<h1>Shop</h1>${words}`);
  });
  let targetUrl: string;

  beforeAll(async () => {
    writeFiles(folder, project);
    symlinkSync(await installedClients(), join(folder, 'node_modules'));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    harness = await openHarness();
    url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
    const location = await createLocation(harness, 'lab');
    agent = new AgentProcess({
      SERVICE_URL: url,
      API_KEY: location.key,
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: scripts.path,
      SPOOL_DIR: spool.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
    });
    const { checkTypes } = await agent.logged('script sandbox ready', 90_000);
    if (!(checkTypes as string[]).includes('BROWSER')) missing = 'this machine has no browser';
  }, 300_000);
  afterAll(async () => {
    await agent?.kill();
    await harness?.close();
    target.close();
    for (const one of [scripts, spool]) one.remove();
    rmSync(folder, { recursive: true });
  }, 180_000);

  const needsBrowser = (context: TestContext) => missing && context.skip(missing);
  const checkly = (...args: string[]) => checklyIn(folder, ...args);
  const checklyIn = async (cwd: string, ...args: string[]) => {
    const { key, accountId: account } = harness;
    const environment = { TARGET: targetUrl };
    const end = await runCommandLine(args, { service: url, key, account, cwd, environment });
    if (end.exitCode === 0) ran.add(commandOf(args));
    return end;
  };
  const sessionOf = (stdout: string) => /Test session ID: (\S+)/.exec(stdout)?.[1];
  /** Waits for the end of a session that the command line no longer watches. */
  const endOf = async (stdout: string) => {
    const path = `/v1/test-sessions/${sessionOf(stdout)}/completion?maxWaitSeconds=30`;
    for (;;) {
      const { status, body } = await harness.call('GET', path);
      if (status !== 408) return body;
    }
  };

  it('tests undeployed checks, with their group, variables and script files', {
    timeout: 120_000,
  }, async () => {
    const good = await checkly('test', 'api.check', '--grep', 'Orders|Home', '--env', 'FROM=here');
    expect(good.exitCode, good.output).toBe(0);
    expect(good.stdout).toContain('2 passed, 2 total');
    expect(good.stdout).toMatch(/✔ Orders \(\d+m?s\)/);
    expect(asked).toContain('/orders?grouped=yes&from=here signed-orders');

    const bad = await checkly('test', 'api.check', '--grep', 'page', '--retries', '1');
    expect(bad.exitCode, bad.output).toBe(1);
    expect(bad.stdout).toContain('1 failed, 1 passed, 2 total');
    expect(bad.stdout).toContain('Status Code: 410');
    expect(asked.filter((path) => path === '/gone')).toHaveLength(2);
  });

  it('starts and continues when detached', { timeout: 120_000 }, async () => {
    const end = await checkly('test', 'api.check', '--grep', 'Home', '--detach');
    expect(end.exitCode, end.output).toBe(0);
    expect(await endOf(end.stdout)).toMatchObject({ status: 'PASSED', name: 'Shop' });
  });

  it('triggers deployed checks, and reports if none matches', { timeout: 120_000 }, async () => {
    const create = (name: string, path: string) =>
      harness.call('POST', '/v1/checks/url', {
        ...{ name, tags: ['deployed'], request: { url: `${targetUrl}${path}` } },
        ...{ activated: true, locations: [], privateLocations: ['lab'] },
      });
    await create('Deployed page', '/deployed');
    const end = await checkly('trigger', '--tags', 'deployed', '--private-location', 'lab', '--verbose');
    expect(end.exitCode, end.output).toBe(0);
    expect(end.stdout).toContain('1 passed, 1 total');
    expect(end.stdout).toContain('Status Code: 200');
    const left = await checkly('trigger', '--tags', 'deployed', '--private-location', 'lab', '--detach');
    expect(left.exitCode, left.output).toBe(0);
    expect(await endOf(left.stdout)).toMatchObject({ status: 'PASSED' });
    const none = await checkly('trigger', '--tags', 'nothing', '--private-location', 'lab');
    expect(none).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('No matching checks were found.'),
    });
    const unsaid = await checkly('trigger', '--tags', 'deployed', '--config', join(folder, 'none'));
    expect(unsaid.exitCode, unsaid.output).toBe(0);
    expect(unsaid.stdout).toContain('1 passed, 1 total');
    const nowhere = await checkly('trigger', '--tags', 'deployed', '--location', 'eu-west-1');
    expect(nowhere.exitCode).toBe(1);
    expect(nowhere.output).toMatch(/private location|unsupported location/);
  });

  it('tests browser checks', { timeout: 180_000 }, async (context) => {
    needsBrowser(context);
    const end = await checkly('test', 'home.spec', '--env', `TARGET_URL=${targetUrl}/`, '--verbose');
    expect(end.exitCode, end.output).toBe(0);
    expect(end.stdout).toContain('1 passed, 1 total');
  });

  it('keeps reference screenshots, and compares with them', { timeout: 180_000 }, async (context) => {
    needsBrowser(context);
    const look = (...args: string[]) =>
      checkly('test', 'looks.spec', '--env', `TARGET_URL=${targetUrl}/`, ...args);
    const picture = join(folder, 'src/looks.spec.ts-snapshots/shop-linux.png');
    const made = await look('--update-snapshots');
    expect(made.exitCode, made.output).toBe(0);
    const first = readFileSync(picture);
    expect(first.subarray(1, 4).toString()).toBe('PNG');
    const same = await look();
    expect(same.exitCode, same.output).toBe(0);
    words = '<h2>Closed</h2>'.repeat(5);
    const other = await look();
    expect(other.exitCode, other.output).toBe(1);
    expect(other.output).toMatch(/pixels|toHaveScreenshot/);
    expect(readFileSync(picture)).toEqual(first);
    expect((await look('--update-snapshots')).exitCode).toBe(0);
    expect(readFileSync(picture)).not.toEqual(first);
  });

  it('tests Playwright suites', { timeout: 300_000 }, async (context) => {
    needsBrowser(context);
    const suiteFolder = mkdtempSync(join(tmpdir(), 'picket-suite-'));
    writeFiles(suiteFolder, suite);
    for (const name of ['package.json', 'package-lock.json']) {
      copyFileSync(join(import.meta.dirname, '../e2e/fixtures/suite', name), join(suiteFolder, name));
    }
    // The author's installed package: the command line reads the suite's configuration.
    mkdirSync(join(suiteFolder, 'node_modules'));
    symlinkSync(join(await installedClients(), 'checkly'), join(suiteFolder, 'node_modules/checkly'));
    for (const name of ['@playwright', 'playwright', 'playwright-core']) {
      const installed = join(runtimesDirectory, '2025.04/node_modules', name);
      symlinkSync(installed, join(suiteFolder, 'node_modules', name));
    }
    const variables = { ...(await registryVariables()), TARGET_URL: `${targetUrl}/` };
    const given = Object.entries(variables).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    const grep = ['--', '--grep', 'opens'];
    const end = await checklyIn(suiteFolder, 'pw-test', ...given, ...grep);
    const left = await checklyIn(suiteFolder, 'pw-test', '--detach', ...given, ...grep);
    rmSync(suiteFolder, { recursive: true });
    expect(end.exitCode, end.output).toBe(0);
    expect(end.stdout).toContain('1 passed, 1 total');
    expect(end.stdout).toMatch(/\[\d\d:\d\d:\d\d\.\d{3}\] .*Running 1 test/);
    expect(left.exitCode, left.output).toBe(0);
    expect(await endOf(left.stdout)).toMatchObject({ status: 'PASSED' });
  });

  it('reports wrong keys and accounts before anything runs', { timeout: 240_000 }, async () => {
    const { accountId } = await harness.addAccount();
    const end = await runCommandLine(['test'], {
      ...{ service: url, key: harness.key, account: accountId, cwd: folder },
      environment: { TARGET: targetUrl },
    });
    expect(end.exitCode).toBe(1);
  });

  it('has run each command that the table says is run here', (context) => {
    needsBrowser(context);
    expect([...ran].sort()).toEqual(commandsRunIn('test-sessions.test.ts'));
  });
});

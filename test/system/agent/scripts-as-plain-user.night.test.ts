import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import type { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { PlainUser, plainUid } from '../../helpers/scripts/plain-user.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { MemoryBundles, packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { ownerOf, processesWhere } from '../sandbox/processes.ts';

const isRoot = process.getuid?.() === 0;
const agentUid = isRoot ? plainUid : process.getuid?.();
const imports = "import { test, expect } from '@playwright/test';\n";
const look = `
  await page.goto(process.env.TARGET);
  await expect(page.locator('body')).toHaveText('ok');
  console.log('I am ' + process.getuid());`;
/** Reports data that a script must not be able to read, although the same user owns it. */
const spy = `
  const fs = require('node:fs');
  const read = (path) => { try { return fs.readFileSync(path, 'latin1'); } catch { return ''; } };
  const below = (path) => { try { return fs.readdirSync(path, { recursive: true }); } catch { return []; } };
  for (const name of below(process.env.SPOOL)) if (read(process.env.SPOOL + '/' + name) !== '') console.log('READ ' + name);
  for (const name of fs.readdirSync('/proc')) if (read('/proc/' + name + '/environ').includes('API_KEY=')) console.log('READ /proc/' + name);`;

/** Every kind of script; the same as root: scripts.test.ts and test/system/e2e/suites.night.test.ts. */
describe('an agent as a plain user', () => {
  let stage: Stage;
  let agent: AgentProcess;
  let user: PlainUser | undefined;
  let folder: ReturnType<typeof temporaryFolder>;
  let checkout: string;
  let home: string;
  let missing: string | undefined;

  beforeAll(async () => {
    const { ids } = await readRuntimes(runtimesDirectory);
    if (ids.length === 0) missing = 'no runtime is installed: npm run runtimes:install';
    else if (!existsSync(join(runtimesDirectory, 'package-managers/node_modules'))) {
      missing = 'no package managers are installed: npm run runtimes:install package-managers';
    }
    const unpackedPath = unpackedChromiumPath(runtimesDirectory);
    await findBrowser({ chromiumPath: process.env.CHROMIUM_PATH, unpackedPath }).catch((thrown) => {
      missing ??= String(thrown);
    });
    if (missing) return;
    stage = await Stage.open();
    folder = temporaryFolder();
    user = isRoot ? new PlainUser() : undefined;
    home = user?.home ?? folder.path;
    checkout = user?.checkout ?? join(runtimesDirectory, '..');
    agent = stage.startAgent(
      {
        RUNTIMES_DIR: join(checkout, 'runtimes'),
        SCRIPTS_DIR: join(home, 'scripts'),
        SPOOL_DIR: join(home, 'spool'),
        HOME: home,
        ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
      },
      [],
      user?.wrapper ?? [],
    );
    const { checkTypes } = await agent.logged('script sandbox ready', 90_000);
    expect(checkTypes).toEqual(['BROWSER', 'MULTI_STEP', 'PLAYWRIGHT']);
    // Runs leased to an older claim would be lost with it.
    await stage.service.waitFor('a claim for scripts', () =>
      (stage.service.calls.at(-1)?.body.checkTypes as string[] | undefined)?.includes('PLAYWRIGHT'),
    );
  }, 180_000);
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
    folder?.remove();
    user?.[Symbol.dispose]();
  }, 180_000);

  const needsAll = (context: TestContext) => missing && context.skip(missing);

  async function run(checkType: string, spec: Record<string, unknown>, more = {}) {
    const check = { id: crypto.randomUUID(), name: 'Test', checkType, spec };
    const variables = { TARGET: stage.target.url(), SPOOL: join(home, 'spool') };
    const wanted = leasedRun('', { check, variables, ...more });
    stage.service.enqueue(wanted);
    const find = () => stage.service.resultOf(wanted.runId);
    const result = await stage.service.waitFor(`the result of ${checkType}`, find, 50_000);
    expect(result.failure, JSON.stringify(result.failure)).toBeNull();
    const text = JSON.stringify(result.detail);
    expect(text).toContain(`I am ${agentUid}`);
    expect(text).not.toContain('READ ');
    return result;
  }

  it('is isolated by its own namespaces', async (context) => {
    needsAll(context);
    const { scripts } = JSON.parse((await agent.get('/health')).body);
    expect(scripts.sandbox).toMatchObject({ mechanism: 'user-namespaces', problems: [] });
    expect(ownerOf(join(home, 'scripts/0'))).toBe(agentUid);
  });

  it.each([
    ['a browser test', 'BROWSER', `${imports}test('look', async ({ page }) => {${spy}${look}});`],
    [
      'a plain script with a browser',
      'BROWSER',
      `const { chromium } = require('playwright'); const { expect } = require('playwright/test');
       const browser = await chromium.launch(); const page = await browser.newPage();${look}
       await browser.close();`,
    ],
    [
      'a multi-step test',
      'MULTI_STEP',
      `${imports}test('ask', async ({ request }) => {${spy}
         expect(await (await request.get(process.env.TARGET)).text()).toBe('ok');
         console.log('I am ' + process.getuid()); });`,
    ],
  ])('runs %s', async (_name, checkType, script) => {
    if (missing) return;
    const { artifacts } = await run(checkType, { script });
    const names = (artifacts ?? []).map(({ name, state }) => [name, state]);
    if (script.startsWith(imports)) expect(names).toContainEqual(['report.json', 'awaited']);
  });

  it('runs a suite', async (context) => {
    needsAll(context);
    const bytes = await packFiles({
      'playwright.config.ts': 'export default { workers: 1, retries: 0 };',
      'a.spec.ts': `${imports}test('look', async ({ page }) => {${spy}${look}});`,
    });
    const codeBundlePath = new MemoryBundles().add(bytes);
    stage.service.codeBundles.set(codeBundlePath, bytes);
    const modules = join(checkout, 'runtimes/2026.04/node_modules');
    const installCommand = `ln -s "$(readlink -f '${modules}')" node_modules`;
    const { detail } = await run('PLAYWRIGHT', { codeBundlePath, installCommand });
    expect(detail).toMatchObject({ stats: { expected: 1, unexpected: 0, flaky: 0, skipped: 0 } });
  });

  it('runs scripts around a request', async (context) => {
    needsAll(context);
    const phase = (script: string) => [{ name: 'script of the check', script }];
    const lifecycle = {
      setup: phase("request.headers['x-own'] = '1'; console.log('I am ' + process.getuid());"),
      teardown: phase("if (response.body !== 'ok') throw new Error(response.body);"),
    };
    await run('API', { request: { url: stage.target.url() } }, { lifecycle });
  });

  it('leaves no process and no folder of a run when it is killed', async (context) => {
    needsAll(context);
    const script = `${imports}test('stay', async ({ page }) => {
      await page.goto(process.env.TARGET + 'stay'); await new Promise(() => {}); });`;
    const check = { id: crypto.randomUUID(), name: 'Test', checkType: 'BROWSER', spec: { script } };
    stage.service.enqueue(leasedRun('', { check, variables: { TARGET: stage.target.url() } }));
    await stage.service.waitFor('its page', () => stage.target.requests.includes('/stay'));
    await agent.kill();
    const processes = () =>
      processesWhere((_status, pid) => readFileSync(`/proc/${pid}/environ`, 'latin1').includes(home));
    await stage.service.waitFor('no process', () => processes().length === 0, 10_000);
    const slot = join(home, 'scripts/0/sandboxes/slot-0');
    await stage.service.waitFor('no folder', () => !existsSync(slot), 10_000);
  });
});

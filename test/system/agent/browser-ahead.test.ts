import { expect, it } from 'vitest';
import { findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

/** A page, and how many browsers of the sandbox were given the variables of this run. */
const script = (use: string) => `import { test } from '@playwright/test'; ${use}
  test('look', async ({ page }) => {
    await page.goto(process.env.TARGET);
    const read = (path) => { try { return require('fs').readFileSync(path, 'latin1'); } catch { return ''; } };
    const given = require('fs').readdirSync('/proc').filter((pid) =>
      read('/proc/' + pid + '/cmdline').includes('--remote-debugging-pipe') &&
      read('/proc/' + pid + '/environ').includes('OWN=value-of-this-run'));
    console.log('GIVEN ' + given.length);
  });`;

it('a browser is launched ahead for one run, and a script that asks for another gets that', {
  timeout: 200_000,
}, async (context) => {
  const { ids } = await readRuntimes(runtimesDirectory);
  if (ids.length === 0) return context.skip('no runtime is installed: npm run runtimes:install');
  const unpackedPath = unpackedChromiumPath(runtimesDirectory);
  const browser = findBrowser({ chromiumPath: process.env.CHROMIUM_PATH, unpackedPath });
  const missing = await browser.then(() => undefined, String);
  if (missing !== undefined) return context.skip(missing);
  const folder = temporaryFolder();
  const stage = await Stage.open();
  try {
    const agent = stage.startAgent({
      CHECK_TYPES: 'URL,BROWSER',
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: folder.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
      ...(process.env.CHROMIUM_PATH ? { CHROMIUM_PATH: process.env.CHROMIUM_PATH } : {}),
    });
    await agent.logged('script sandbox ready', 90_000);
    const run = async (use = '') => {
      const check = {
        id: crypto.randomUUID(),
        name: 'Test',
        checkType: 'BROWSER',
        spec: { script: script(use) },
      };
      const variables = { TARGET: stage.target.url(), OWN: 'value-of-this-run' };
      const wanted = leasedRun('', { check, variables });
      stage.service.enqueue(wanted);
      const find = () => stage.service.resultOf(wanted.runId);
      const { failure, detail, artifacts } = await stage.service.waitFor('the result', find, 60_000);
      expect(failure).toBeNull();
      expect(artifacts?.map(({ name }) => name).sort()).toEqual(['report.json', 'traces/look.zip']);
      const { steps, jobLog } = detail as { steps: { title: string }[]; jobLog: { msg: string }[] };
      const isLaunched = steps.some(({ title }) => title === 'Launch browser');
      return { isLaunched, given: jobLog.find(({ msg }) => msg.startsWith('GIVEN'))?.msg };
    };
    // A spare is started when a processor is free.
    const endMs = performance.now() + 70_000;
    let last = await run();
    while (last.isLaunched && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, 2000));
      last = await run();
    }
    expect(last).toEqual({ isLaunched: false, given: 'GIVEN 0' });
    const other = await run("test.use({ launchOptions: { args: ['--lang=de'] } });");
    expect(other).toEqual({ isLaunched: true, given: 'GIVEN 1' });
  } finally {
    await stage[Symbol.asyncDispose]();
    folder.remove();
  }
});

import { expect, it } from 'vitest';
import { openBrowsers } from '../../../src/sandbox/browsers/open-browsers.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { isNight } from '../../helpers/night.ts';
import { runUnderKills } from '../../helpers/scripts/script-kills.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

/** A slow machine finishes fewer in that time. */
const runCount = isNight ? 60 : 6;

/** The long form: `npm run bench -- script-kills`. */
it('an agent leaves nothing behind when workers, browsers and renderers are killed at random', {
  timeout: isNight ? 900_000 : 200_000,
}, async ({ skip }) => {
  const runtimes = await readRuntimes(runtimesDirectory);
  if (runtimes.ids.length === 0) skip('no runtime is installed: npm run runtimes:install');
  const farm = temporaryFolder();
  const unpackedPath = unpackedChromiumPath(runtimesDirectory);
  const browser = await openBrowsers({
    directory: farm.path,
    runtimes,
    chromiumPath: process.env.CHROMIUM_PATH,
    unpackedPath,
  });
  farm.remove();
  if ('missing' in browser) skip(browser.missing);
  const figures = await runUnderKills({
    runCount,
    killCount: isNight ? 20 : 2,
    hasBrowser: true,
    durationMs: isNight ? 240_000 : 20_000,
  });
  expect(figures).toMatchObject({ strayProcesses: 0, leftFolders: 0, leftAfterStop: 0 });
  expect(figures.otherFailures).toEqual([]);
  // A browser that is killed while it starts counts as a fault of the agent.
  const { passed = 0, SCRIPT_FAILED = 0, BROWSER_MISSING = 0 } = figures.ends;
  expect(passed + SCRIPT_FAILED + BROWSER_MISSING).toBe(figures.runs);
  const killCount = Object.values(figures.kills).reduce((sum, count) => sum + count, 0);
  expect(killCount).toBeGreaterThan(0);
  // Only runs that were hit failed.
  expect(SCRIPT_FAILED + BROWSER_MISSING).toBeLessThanOrEqual(killCount);
});

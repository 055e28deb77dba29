import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BrowserMissing, findBrowser } from '../../../src/sandbox/browsers/find-browser.ts';
import { unpackedChromiumPath } from '../../../src/sandbox/browsers/unpacked-chromium.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

/** The browser of this machine, or the reason why it is missing. */
async function browserHere(): Promise<string | { readonly missing: string }> {
  try {
    const unpackedPath = unpackedChromiumPath(runtimesDirectory);
    return (await findBrowser({ chromiumPath: process.env.CHROMIUM_PATH, unpackedPath })).executablePath;
  } catch (thrown) {
    if (thrown instanceof BrowserMissing) return { missing: thrown.message };
    throw thrown;
  }
}

it('browser checks are offered while the browser starts, and no longer once a run finds that it does not start', {
  timeout: 240_000,
}, async (context) => {
  const browser = await browserHere();
  if (typeof browser !== 'string') return context.skip(browser.missing);
  const folder = temporaryFolder();
  const broken = join(folder.path, 'broken');
  const launcher = join(folder.path, 'chromium');
  writeFileSync(launcher, `#!/bin/sh\n[ -e ${broken} ] && exit 1\nexec ${browser} "$@"\n`, { mode: 0o755 });
  const stage = await Stage.open();
  try {
    const agent = stage.startAgent({
      CHECK_TYPES: 'URL,BROWSER,MULTI_STEP',
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: folder.path,
      CHROMIUM_PATH: launcher,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
    });
    type Claim = { readonly checkTypes: string[]; readonly unavailable: Record<string, string> };
    const claimed = () => stage.service.callsOf('claim').at(-1)?.body as Claim;
    const whileOffered = (isOffered: boolean) =>
      stage.service.waitFor(
        `claims ${isOffered ? 'with' : 'without'} browser checks`,
        () =>
          claimed()?.checkTypes.includes('MULTI_STEP') &&
          claimed().checkTypes.includes('BROWSER') === isOffered,
        90_000,
      );
    await whileOffered(true);

    writeFileSync(broken, '');
    const script = `import { test } from '@playwright/test'; test('opens', async ({ page }) => { await page.goto('about:blank'); });`;
    const run = leasedRun('', { check: { id: 'a', name: 'a', checkType: 'BROWSER', spec: { script } } });
    stage.service.enqueue(run);
    const result = await stage.service.waitFor('the result', () => stage.service.resultOf(run.runId), 90_000);
    expect(result.failure).toMatchObject({ owner: 'agent', code: 'BROWSER_MISSING' });
    await whileOffered(false);
    expect(claimed().unavailable.BROWSER).toMatch(
      /^The browser of this agent does not start \(.*chromium\): /,
    );
    expect((await agent.get('/metrics')).body).toMatch(
      /picket_agent_check_type_info\{check_type="BROWSER",available="false",backend=""[^}]*\} 1/,
    );
    await agent.logged('check type is not available on this host');

    rmSync(broken);
    await whileOffered(true);
  } finally {
    await stage[Symbol.asyncDispose]();
    folder.remove();
  }
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { readPackageManagers } from '../../../src/sandbox/suites/package-managers.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { npmLockfile, startPackageRegistry } from '../../helpers/scripts/package-registry.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';
import { MemoryBundles, packFiles } from '../../helpers/scripts/suite-bundle.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

it('an agent reports browsers that are installed later, and counts how its suites find their packages', {
  timeout: 180_000,
}, async (context) => {
  if ((await readRuntimes(runtimesDirectory)).ids.length === 0)
    return context.skip('no runtime is installed: npm run runtimes:install');
  const { installed } = await readPackageManagers(runtimesDirectory);
  if (installed.length === 0) return context.skip('npm run runtimes:install package-managers');
  const folder = temporaryFolder();
  const registry = await startPackageRegistry();
  const stage = await Stage.open();
  try {
    const agent = stage.startAgent({
      CHECK_TYPES: 'PLAYWRIGHT',
      RUNTIMES_DIR: runtimesDirectory,
      BROWSERS_DIR: join(folder.path, 'browsers'),
      SCRIPTS_DIR: folder.path,
      ALLOW_UNISOLATED_SCRIPTS: 'true',
    });
    await agent.logged('script sandbox ready', 60_000);
    const offered = () => stage.service.callsOf('claim').at(-1)?.body as { browsers?: object[] } | undefined;
    await stage.service.waitFor('a claim', offered);
    expect(offered()).toMatchObject({ browsers: [] });
    mkdirSync(join(folder.path, 'browsers/firefox-1509'), { recursive: true });
    writeFileSync(join(folder.path, 'browsers/firefox-1509/INSTALLATION_COMPLETE'), '');
    const hasFirefox = () => (offered()?.browsers?.length ?? 0) > 0;
    await stage.service.waitFor('an offer of Firefox', hasFirefox, 60_000);
    expect(offered()).toMatchObject({ browsers: [{ name: 'firefox', version: '1509' }] });

    const dep = await registry.publish({ name: 'dep', version: '1.0.0' }, { 'index.js': '' });
    const manifest = { name: 'shop', version: '1.0.0', dependencies: { dep: '1.0.0' } };
    for (const text of ['one', 'two']) {
      const bytes = await packFiles({
        'package.json': JSON.stringify(manifest),
        'package-lock.json': npmLockfile(manifest, [dep]),
        'read.js': `require('dep'); // ${text}`,
      });
      const codeBundlePath = new MemoryBundles().add(bytes);
      stage.service.codeBundles.set(codeBundlePath, bytes);
      const spec = { codeBundlePath, testCommand: 'node read.js', browsers: [] };
      const check = { id: crypto.randomUUID(), name: text, checkType: 'PLAYWRIGHT', spec };
      const run = leasedRun('', { check });
      stage.service.enqueue(run);
      await stage.service.waitFor(`the suite ${text}`, () => stage.service.resultOf(run.runId), 60_000);
    }
    const metrics = (await agent.get('/metrics')).body;
    expect(metrics).toContain('picket_agent_suite_packages_misses_total 1');
    expect(metrics).toContain('picket_agent_suite_packages_hits_total 1');
    expect(metrics).toMatch(/picket_agent_suite_packages_bytes [1-9]/);
  } finally {
    await stage[Symbol.asyncDispose]();
    await registry.close();
    folder.remove();
  }
});

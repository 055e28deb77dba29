import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  npmLockfile,
  type PackageRegistry,
  startPackageRegistry,
} from '../../helpers/scripts/package-registry.ts';
import {
  type SuiteFiles,
  type SuiteRunOptions,
  type SuiteStage,
  startSuiteStage,
} from '../../helpers/scripts/suite-stage.ts';

/** Prints the value of its dependency; no Playwright suite is needed for that. */
const reader = "console.log('GOT', require('dep'));";

describe('dependencies that several suites share', () => {
  let stage: SuiteStage;
  let registry: PackageRegistry;
  let suite: SuiteFiles;
  beforeAll(async () => {
    stage = await startSuiteStage();
    registry = await startPackageRegistry();
    const dep = await registry.publish(
      { name: 'dep', version: '1.0.0' },
      { 'index.js': "module.exports = 'clean';" },
    );
    suite = projectOf('shop', { dep: '1.0.0' }, [dep]);
  });
  afterAll(async () => {
    await registry.close();
    await stage.close();
  });

  const projectOf = (
    name: string,
    dependencies: Readonly<Record<string, string>>,
    packages: Parameters<typeof npmLockfile>[1],
    more: Readonly<Record<string, unknown>> = {},
  ): SuiteFiles => {
    const manifest = { name, version: '1.0.0', dependencies, ...more };
    return {
      'package.json': JSON.stringify(manifest),
      'package-lock.json': npmLockfile(manifest, packages),
      'read.js': reader,
    };
  };

  function itShares(name: string, run: () => Promise<void>): void {
    it(name, { timeout: 120_000 }, async ({ skip }) => {
      const missing = stage.missingManager('npm');
      if (missing !== undefined) skip(missing);
      await run();
    });
  }

  /** The value that a suite got, and whether it installed the dependency itself. */
  async function got(files: SuiteFiles, { spec, context }: SuiteRunOptions = {}) {
    const options = { spec: { testCommand: 'node read.js', ...spec }, context };
    const { detail } = (await stage.run(files, options)).outcome;
    const texts = detail.jobLog.map(({ msg }) => msg);
    return {
      value: texts.find((text) => text.startsWith('GOT '))?.slice(4) ?? texts.join('\n'),
      source: detail.install?.source,
    };
  }

  itShares('are installed once for all tests with the same lockfile, manifests and settings', async () => {
    expect(await got(suite)).toEqual({ value: 'clean', source: 'installed' });
    const before = registry.downloadCount;
    const changed = { ...suite, 'read.js': `${reader} console.log('changed');` };
    expect(await got(changed)).toEqual({ value: 'clean', source: 'cache' });
    expect(registry.downloadCount).toBe(before);
  });

  itShares('are others for another manifest, setting or variable of the registry', async () => {
    await got(suite);
    const described = JSON.stringify({ ...JSON.parse(suite['package.json'] ?? ''), description: 'another' });
    expect(await got({ ...suite, 'package.json': described })).toMatchObject({ source: 'installed' });
    expect(await got({ ...suite, '.npmrc': 'fund=false\n' })).toMatchObject({ source: 'installed' });
    const variables = { npm_config_registry: registry.url };
    expect(await got(suite, { context: { variables } })).toMatchObject({ source: 'installed' });
  });

  itShares('cannot be changed by the tests or an installCommand of another check', async () => {
    await got(suite);
    const write = `require('node:fs').writeFileSync(require.resolve('dep'), "module.exports = 'poisoned';")`;
    // These tests run as the agent itself, which may write anywhere: system tests of sandboxes prove the rest.
    const installCommand = `npm ci && node -e ${JSON.stringify(write)}`;
    expect(await got(suite, { spec: { installCommand } })).toEqual({
      value: 'poisoned',
      source: 'installed',
    });
    expect(await got(suite)).toEqual({ value: 'clean', source: 'cache' });
  });
});

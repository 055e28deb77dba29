import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandboxes } from '../../../src/sandbox/pool/pool.ts';
import { DependencyCache } from '../../../src/sandbox/suites/dependency-cache.ts';
import { isNight } from '../../helpers/night.ts';
import {
  npmLockfile,
  type PackageRegistry,
  type Published,
  pnpmLockfile,
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

const isRoot = process.getuid?.() === 0;

/** Tries to change the kept packages in every way that a program has, and says what worked. */
const attack = `
  const fs = require('node:fs');
  const path = require('node:path');
  const file = require.resolve('dep');
  const folder = path.dirname(file);
  const poison = "module.exports = 'poisoned';";
  const attempts = {
    write: () => fs.writeFileSync(file, poison),
    add: () => fs.writeFileSync(path.join(folder, 'more.js'), poison),
    remove: () => fs.rmSync(file),
    move: () => fs.renameSync(folder, folder + '.old'),
    mode: () => fs.chmodSync(file, 0o777),
    owner: () => fs.chownSync(file, process.getuid(), process.getgid()),
    entry: () => fs.mkdirSync(path.join(folder, '../../../new-entry')),
    list: () => fs.readdirSync(path.join(folder, '../../..')),
    link: () => { fs.linkSync(file, 'own.js'); fs.writeFileSync('own.js', poison); },
    mount: () => require('node:child_process').execFileSync('mount', ['--bind', __dirname, folder], { stdio: 'pipe' }),
  };
  const worked = Object.entries(attempts).flatMap(([name, attempt]) => {
    try { attempt(); return [name]; } catch { return []; }
  });
  console.log('GOT', worked.join(' ') || 'no change');`;

describe('dependencies that several suites share', () => {
  let stage: SuiteStage;
  let registry: PackageRegistry;
  let dep: Published;
  let suite: SuiteFiles;
  beforeAll(async () => {
    stage = await startSuiteStage();
    registry = await startPackageRegistry();
    dep = await registry.publish(
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
    { lock, ...more }: Readonly<Record<string, unknown>> & { readonly lock?: Record<string, unknown> } = {},
  ): SuiteFiles => {
    const manifest = { name, version: '1.0.0', dependencies, ...more };
    return {
      'package.json': JSON.stringify(manifest),
      'package-lock.json': npmLockfile(manifest, packages, lock),
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
  async function got(files: SuiteFiles, { spec, ...more }: SuiteRunOptions = {}) {
    const options = { spec: { testCommand: 'node read.js', ...spec }, ...more };
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

  itShares('are others for another setting', async () => {
    await got(suite);
    expect(await got({ ...suite, '.npmrc': 'fund=false\n' })).toMatchObject({ source: 'installed' });
  });

  it('cannot be changed by tests, in a sandbox', { timeout: 120_000 }, async ({ skip }) => {
    const missing =
      stage.missingManager('npm') ?? (isRoot ? undefined : 'only root has sandboxes of other users');
    if (missing !== undefined) skip(missing);
    const directory = await mkdtemp(join(tmpdir(), 'picket-shared-'));
    await chmod(directory, 0o711);
    const pool = await openSandboxes({
      directory: join(directory, 'sandboxes'),
      slotCount: 2,
      firstUid: 31_800,
      mechanism: 'uid+namespaces',
    });
    try {
      const dependencies = await DependencyCache.open(join(directory, 'dependencies'), 2 ** 30);
      const { suites } = stage.host;
      if ('missing' in suites) throw new Error(suites.missing);
      const host = {
        ...stage.host,
        suites: { ...suites, dependencies },
        acquireSandbox: (signal: AbortSignal) => pool.acquire(signal),
      };
      expect(await got(suite, { host })).toEqual({ value: 'clean', source: 'installed' });
      const attacked = await got({ ...suite, 'read.js': attack }, { host });
      expect(attacked).toEqual({ value: 'no change', source: 'cache' });
      expect(await got(suite, { host })).toEqual({ value: 'clean', source: 'cache' });
    } finally {
      await pool.close();
      await rm(directory, { recursive: true, force: true });
    }
  });

  itShares('include those of a workspace, whose packages are the own ones of each suite', async () => {
    const own = { name: '@shop/pages', version: '1.0.0', dependencies: { dep: '1.0.0' } };
    const files = {
      ...projectOf('shop-workspace', {}, [dep], {
        workspaces: ['packages/*'],
        lock: {
          'node_modules/@shop/pages': { resolved: 'packages/pages', link: true },
          'packages/pages': own,
        },
      }),
      'packages/pages/package.json': JSON.stringify(own),
      'packages/pages/index.js': "module.exports = require('dep') + ' one';",
      'read.js': "console.log('GOT', require('@shop/pages'));",
    };
    expect(await got(files)).toEqual({ value: 'clean one', source: 'installed' });
    const changed = { ...files, 'packages/pages/index.js': "module.exports = require('dep') + ' two';" };
    expect(await got(changed)).toEqual({ value: 'clean two', source: 'cache' });
  });

  itShares('are not those of a package with a script, which each bundle installs for itself', async () => {
    const built = await registry.publish(
      { name: 'dep', version: '2.0.0', scripts: { postinstall: 'node build.js' } },
      { 'build.js': "require('node:fs').writeFileSync('index.js', 'module.exports = \"built\";');" },
    );
    const files = projectOf('shop-built', { dep: '2.0.0' }, [built]);
    expect(await got(files)).toEqual({ value: 'built', source: 'installed' });
    const before = registry.downloadCount;
    const changed = { ...files, 'read.js': `${reader} // changed` };
    expect(await got(changed)).toEqual({ value: 'built', source: 'installed' });
    expect(registry.downloadCount - before, 'the refusal is remembered').toBe(1);
    expect(await got(changed)).toEqual({ value: 'built', source: 'cache' });
  });

  if (isNight) {
    it('are those of pnpm 10 without the scripts that it never runs, unless the suite allows some', {
      timeout: 180_000,
    }, async ({ skip }) => {
      const missing = stage.missingManager('pnpm');
      if (missing !== undefined) skip(missing);
      const built = await registry.publish(
        { name: 'built', version: '1.0.0', scripts: { postinstall: 'node build.js' } },
        {
          'index.js': "module.exports = 'as published';",
          'build.js': "require('node:fs').writeFileSync('index.js', 'module.exports = \"built\";');",
        },
      );
      const filesOf = (more: Readonly<Record<string, unknown>>) => ({
        'package.json': JSON.stringify({
          ...{ name: 'shop-pnpm', version: '1.0.0', dependencies: { built: '1.0.0' } },
          ...more,
        }),
        'pnpm-lock.yaml': pnpmLockfile([built]),
        '.npmrc': `registry=${registry.url}\n`,
        'read.js': "console.log('GOT', require('built'));",
      });
      const twice = async (more: Readonly<Record<string, unknown>>) => {
        const files = filesOf(more);
        return [await got(files), await got({ ...files, 'read.js': `${files['read.js']} // changed` })];
      };
      expect(await twice({})).toEqual([
        { value: 'as published', source: 'installed' },
        { value: 'as published', source: 'cache' },
      ]);
      const own = [1, 2].map(() => ({ value: 'built', source: 'installed' }));
      expect(await twice({ pnpm: { onlyBuiltDependencies: ['built'] } })).toEqual(own);
      expect(await twice({ packageManager: 'pnpm@9.15.9' })).toEqual(own);
      // Later ones fail instead.
      const { outcome } = await stage.run(filesOf({ packageManager: 'pnpm@12.21.0' }), {
        spec: { testCommand: 'node read.js' },
      });
      expect(outcome.failure).toMatchObject({ code: 'INSTALL_FAILED', owner: 'config' });
    });

    itShares('are others for another manifest, or variable of the registry', async () => {
      await got(suite);
      const described = JSON.stringify({
        ...JSON.parse(suite['package.json'] ?? ''),
        description: 'another',
      });
      expect(await got({ ...suite, 'package.json': described })).toMatchObject({ source: 'installed' });
      const variables = { npm_config_registry: registry.url };
      expect(await got(suite, { context: { variables } })).toMatchObject({ source: 'installed' });
    });

    itShares('are not changed by an installCommand of another check', async () => {
      await got(suite);
      const write = `require('node:fs').writeFileSync(require.resolve('dep'), "module.exports = 'poisoned';")`;
      const installCommand = `npm ci && node -e ${JSON.stringify(write)}`;
      expect(await got(suite, { spec: { installCommand } })).toEqual({
        value: 'poisoned',
        source: 'installed',
      });
      expect(await got(suite)).toEqual({ value: 'clean', source: 'cache' });
    });
    itShares('come from a private registry with a secret of the settings', async () => {
      const { host } = new URL(registry.url);
      const files = { ...suite, '.npmrc': `//${host}/:_authToken=\${SERVICE_SECRET_NPM}\n` };
      registry.authorization = 'Bearer right';
      try {
        const withToken = (token: string) =>
          got(files, { context: { variables: { SERVICE_SECRET_NPM: token } } });
        expect(await withToken('right')).toEqual({ value: 'clean', source: 'installed' });
        expect(await withToken('right')).toEqual({ value: 'clean', source: 'cache' });
        expect((await withToken('wrong')).source, 'another secret').toBeUndefined();
      } finally {
        registry.authorization = undefined;
      }
    });
  }
});

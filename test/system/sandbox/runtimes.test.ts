import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runtimePackages } from '../../../src/checks/tables/runtime-packages.ts';
import { completeRuntimes } from '../../../src/sandbox/host/host-runtimes.ts';
import type { SandboxPool } from '../../../src/sandbox/pool/pool.ts';
import { promisedPackages, type Runtime, readRuntimes } from '../../../src/sandbox/runtimes/runtimes.ts';
import { checkRuntime } from '../../../src/sandbox/runtimes/self-check.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { createPlainSandbox } from '../../helpers/scripts/plain-sandbox.ts';
import { runtimesDirectory } from '../../helpers/scripts/script-stage.ts';

const ids = ['2026.04', '2025.04', '2024.09'];

describe('the manifests of runtimes', () => {
  it.each(ids)('%s pins one version of Playwright and every other package', async (id) => {
    const manifest = JSON.parse(await readFile(join(runtimesDirectory, id, 'package.json'), 'utf8'));
    const { '@service/playwright-helpers': own, ...packages } = manifest.dependencies;
    expect(own).toBe('file:../playwright-helpers');
    expect(packages['playwright-core']).toBe(packages['@playwright/test']);
    expect(packages.playwright).toBe(packages['@playwright/test']);
    const promised = promisedPackages({ directory: join(runtimesDirectory, id) });
    for (const [name, version] of Object.entries(packages)) expect(promised.get(name), name).toBe(version);
  });

  it.each(ids)('%s has what the API describes', async (id) => {
    const { dependencies } = JSON.parse(
      await readFile(join(runtimesDirectory, id, 'package.json'), 'utf8'),
    ) as { dependencies: Readonly<Record<string, string>> };
    const others = Object.entries(runtimePackages[id] ?? {}).filter(
      ([name, version]) => !/^https?/.test(name) && dependencies[name] !== version,
    );
    // docs/reference/scripts.md lists them.
    const absent = ['client-middleware-devtools', 'server-health', 'server-middleware-terminator'].map(
      (name) => `nice-grpc-${name}`,
    );
    const nearest = {
      '2026.04': 'mailosaur',
      '2025.04': 'nice-grpc-prometheus',
      '2024.09': '@clerk/testing',
    };
    expect(others.map(([name]) => name).sort()).toEqual(
      [...absent, nearest[id as keyof typeof nearest]].sort(),
    );
    expect(absent.filter((name) => name in dependencies)).toEqual([]);
  });

  it.each(ids)('%s contains no source URL of packages', async (id) => {
    const lock = JSON.parse(await readFile(join(runtimesDirectory, id, 'package-lock.json'), 'utf8'));
    const entries = Object.values(lock.packages) as { resolved?: string }[];
    const resolved = entries.flatMap(({ resolved }) => resolved ?? []);
    expect(resolved).toEqual(['file:../playwright-helpers']);
  });
});

interface CompiledCode {
  readonly roles: readonly string[];
  compiledFolder(modulesDirectory: string): string;
  isCurrent(modulesDirectory: string): boolean;
  readCompiled(file: string): ReadonlyMap<string, { readonly unused?: readonly string[] | null }>;
}
const { roles, compiledFolder, isCurrent, readCompiled } = createRequire(import.meta.url)(
  '../../../src/sandbox/program/compiled-code.cjs',
) as CompiledCode;
const compileProgram = join(import.meta.dirname, '../../../src/sandbox/program/compile-modules.mjs');

describe('installed runtimes', () => {
  let sandbox: Sandbox;
  let directory: string;
  let installed: readonly Runtime[];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'picket-runtimes-'));
    const runtimes = await readRuntimes(runtimesDirectory);
    installed = runtimes.ids.flatMap((id) => runtimes.find(id) ?? []);
  });
  afterAll(() => rm(directory, { recursive: true }));
  afterEach(() => sandbox?.release());

  /** A test that needs one: skipped if none is installed; never skipped on a build machine. */
  function itHasRuntime(name: string, test: (runtime: Runtime) => Promise<void>): void {
    it(name, async (context) => {
      const [runtime] = installed;
      if (!runtime && process.env.CI !== 'true') context.skip('npm run runtimes:install');
      if (!runtime) throw new Error('no runtime is installed');
      sandbox = await createPlainSandbox();
      await test(runtime);
    });
  }

  itHasRuntime('load what tests use at once, and what they do not use late', async () => {
    for (const { id, modulesDirectory } of installed) {
      const folder = compiledFolder(modulesDirectory);
      // Compiled by another version of Node, or not at all: nothing is late then.
      if (!existsSync(folder)) continue;
      for (const role of roles) {
        const modules = readCompiled(join(folder, role));
        const unusedOf = (name: string) => modules.get(`modules/playwright${name}`)?.unused ?? undefined;
        expect(unusedOf('-core/lib/server/webkit/wkPage.js'), `${id} ${role}`).toEqual(
          expect.arrayContaining(['WKPage']),
        );
        expect(unusedOf('/lib/common/testLoader.js'), `${id} ${role}`).toBeUndefined();
        expect(unusedOf('-core/lib/utils.js'), `${id} ${role}`).toBeUndefined();
      }
    }
  });

  itHasRuntime('provide every package that they promise', async () => {
    for (const runtime of installed) {
      await sandbox.release();
      sandbox = await createPlainSandbox();
      expect(await checkRuntime(runtime, sandbox), runtime.id).toEqual([]);
    }
  });

  itHasRuntime(
    'without compiled code of this version are offered and named, until it is made',
    async (runtime) => {
      const modulesDirectory = join(directory, 'not-compiled/node_modules');
      await mkdir(modulesDirectory, { recursive: true });
      const names = (await readdir(runtime.modulesDirectory)).filter((name) => name !== '.picket-compiled');
      for (const name of names)
        await symlink(join(runtime.modulesDirectory, name), join(modulesDirectory, name));
      const facts = { nodePath: process.execPath };
      const pool = { acquire: async () => sandbox, facts } as unknown as SandboxPool;
      expect(await completeRuntimes([{ ...runtime, modulesDirectory }], pool)).toMatchObject({
        complete: [{ id: runtime.id }],
        problems: [{ part: 'compiled-code', text: expect.stringContaining(`runtime ${runtime.id}`) }],
      });
      // As `runtimes:install` does, also after an update of Picket that left older code.
      await mkdir(compiledFolder(modulesDirectory), { recursive: true });
      for (const role of roles)
        await writeFile(join(compiledFolder(modulesDirectory), role), 'of an older version');
      expect(isCurrent(modulesDirectory)).toBe(false);
      await promisify(execFile)(process.execPath, [compileProgram, modulesDirectory]);
      expect(isCurrent(modulesDirectory)).toBe(true);
      const made = await stat(compiledFolder(modulesDirectory));
      await promisify(execFile)(process.execPath, [compileProgram, modulesDirectory]);
      expect((await stat(compiledFolder(modulesDirectory))).ino).toBe(made.ino);
    },
  );

  itHasRuntime('may be behind a symbolic link', async (runtime) => {
    await symlink(runtimesDirectory, join(directory, 'linked'));
    const linked = (await readRuntimes(join(directory, 'linked'))).find(runtime.id);
    expect(linked?.modulesDirectory).toBe(runtime.modulesDirectory);
    if (linked) expect(await checkRuntime(linked, sandbox)).toEqual([]);
  });

  itHasRuntime('report each package that is missing or of another version', async (runtime) => {
    const copy = join(directory, 'broken', runtime.id);
    await mkdir(join(copy, 'node_modules/@playwright/test'), { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) {
      await cp(join(runtime.directory, name), join(copy, name));
    }
    await cp(join(runtime.modulesDirectory, 'playwright-core'), join(copy, 'node_modules/playwright-core'), {
      recursive: true,
    });
    await writeFile(join(copy, 'node_modules/@playwright/test/cli.js'), '');
    const manifestFile = join(copy, 'node_modules/playwright-core/package.json');
    const manifest = JSON.parse(await readFile(manifestFile, 'utf8'));
    await writeFile(manifestFile, JSON.stringify({ ...manifest, version: '0.0.1' }));
    const broken = (await readRuntimes(join(directory, 'broken'))).find(runtime.id);
    const problems = broken ? await checkRuntime(broken, sandbox) : [];
    expect(problems).toContain(`playwright-core is 0.0.1, not ${runtime.playwrightVersion}`);
    expect(problems.some((problem) => problem.startsWith('zod: '))).toBe(true);
    expect(problems).toHaveLength(promisedPackages(runtime).size);
  });

  it('do not count without their packages', async () => {
    await mkdir(join(directory, 'empty/2026.04'), { recursive: true });
    expect((await readRuntimes(join(directory, 'empty'))).ids).toEqual([]);
  });
});

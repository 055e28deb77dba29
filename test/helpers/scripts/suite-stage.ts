import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { ArtifactFile, RunContext } from '../../../src/checks/contract/run-context.ts';
import type { PlaywrightDetail } from '../../../src/checks/playwright/detail.ts';
import { runPlaywrightSuite } from '../../../src/checks/playwright/run.ts';
import { PlaywrightSpec } from '../../../src/checks/playwright/spec.ts';
import type { ScriptHost } from '../../../src/sandbox/host/contract.ts';
import { DependencyCache } from '../../../src/sandbox/suites/dependency-cache.ts';
import {
  type ManagerName,
  readNodes,
  readPackageManagers,
} from '../../../src/sandbox/suites/package-managers.ts';
import { runContext } from '../run-context.ts';
import { plainHost } from './plain-sandbox.ts';
import { runtimesDirectory, type ScriptStage, startScriptStage } from './script-stage.ts';
import { MemoryBundles, packFiles } from './suite-bundle.ts';

const run = promisify(execFile);

export type SuiteFiles = Readonly<Record<string, string>>;

export interface SuiteRunOptions {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly context?: Partial<RunContext>;
  /** Replaces the stage's own host. */
  readonly host?: ScriptHost;
}

/** The runners of this machine for Playwright suites. */
export interface SuiteStage {
  readonly scripts: ScriptStage;
  readonly bundles: MemoryBundles;
  readonly host: ScriptHost;
  readonly dependencies: DependencyCache;
  /** Reason why no suite can run here. */
  readonly missing: string | undefined;
  /** Reason why a package manager cannot be used here. */
  missingManager(name: ManagerName): string | undefined;
  run(
    bundle: SuiteFiles | Buffer,
    options?: SuiteRunOptions,
  ): Promise<{ readonly outcome: Outcome<PlaywrightDetail>; readonly artifacts: readonly ArtifactFile[] }>;
  close(): Promise<void>;
}

/** Sets up suites in sandboxes without isolation: the suites are the tests' own. */
export async function startSuiteStage(
  options: Parameters<typeof startScriptStage>[0] = {},
): Promise<SuiteStage> {
  const directory = await mkdtemp(join(tmpdir(), 'picket-suites-'));
  const scripts = await startScriptStage(options);
  const bundles = new MemoryBundles();
  const packageManagers = await readPackageManagers(runtimesDirectory);
  const dependencies = await DependencyCache.open(join(directory, 'dependencies'), 2 ** 32);
  const host = plainHost(scripts.runtimes, scripts.host.browser, {
    bundles,
    packageManagers,
    dependencies,
    nodes: [
      { version: process.versions.node, path: process.execPath },
      ...(await readNodes(runtimesDirectory)),
    ],
  });
  return {
    scripts,
    bundles,
    host,
    dependencies,
    missing: scripts.missingRuntimes,
    missingManager: (name) =>
      packageManagers.installed.some(({ manager }) => manager === name)
        ? undefined
        : `${name} is not installed: npm run runtimes:install package-managers`,
    async run(bundle, options = {}) {
      const bytes = Buffer.isBuffer(bundle) ? bundle : await packFiles(bundle as SuiteFiles);
      const artifacts: ArtifactFile[] = [];
      const spec = PlaywrightSpec.parse({
        codeBundlePath: bundles.add(bytes),
        browsers: [],
        ...options.spec,
      });
      const outcome = await runPlaywrightSuite(
        spec,
        runContext({
          scripts: options.host ?? host,
          timeoutMs: 100_000,
          artifacts: {
            add: async (file) => {
              artifacts.push(file);
              return true;
            },
          },
          ...options.context,
        }),
      );
      return { outcome, artifacts };
    },
    close: async () => {
      await scripts.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Links the packages of an installed runtime instead of installing them. */
export function linkRuntime(stage: SuiteStage): { readonly installCommand: string } {
  const runtime = stage.scripts.runtimes.find(stage.scripts.runtimes.ids[0] ?? '');
  return { installCommand: `ln -s '${runtime?.modulesDirectory}' node_modules` };
}

/** The registry of this machine, as the variables that each package manager reads. */
export async function registryVariables(): Promise<Record<string, string>> {
  const { stdout } = await run('npm', ['config', 'get', 'registry']);
  const registry = stdout.trim();
  const { NODE_EXTRA_CA_CERTS, SSL_CERT_FILE } = process.env;
  return {
    ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
    ...(SSL_CERT_FILE === undefined ? {} : { SSL_CERT_FILE }),
    npm_config_fetch_retries: '0',
    npm_config_registry: registry,
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_REGISTRY: registry,
    BUN_CONFIG_REGISTRY: registry,
    ...(registry.startsWith('http:') ? { YARN_UNSAFE_HTTP_WHITELIST: new URL(registry).hostname } : {}),
  };
}

/** A developer's project: installed, with a lockfile, in its own folder. */
export interface Project {
  readonly directory: string;
  /** Its files with the lockfile, without installed packages. */
  files(lockfile: string): Promise<SuiteFiles>;
  /** Runs Playwright directly, as the developer does; the numbers are from Playwright's own JSON report. */
  runDirectly(): Promise<Record<'expected' | 'unexpected' | 'flaky' | 'skipped', number>>;
  close(): Promise<void>;
}

/** @param version the major version of the manager; the usual one if absent. */
export async function developProject(
  files: SuiteFiles,
  manager: ManagerName,
  version?: string,
): Promise<Project> {
  const directory = await mkdtemp(join(tmpdir(), 'picket-project-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  const packageManagers = await readPackageManagers(runtimesDirectory);
  const chosen = packageManagers.installed.find(
    (one) => one.manager === manager && (version === undefined || one.version.startsWith(`${version}.`)),
  );
  const [program] = chosen?.programs ?? [];
  if (!program) throw new Error(`${manager} ${version ?? ''} is not installed`);
  const [command, ...args] = program.isScript ? [process.execPath, program.path] : [program.path];
  const env = {
    ...(await registryVariables()),
    HOME: directory,
    YARN_NODE_LINKER: 'node-modules',
    YARN_ENABLE_TELEMETRY: '0',
    npm_config_manage_package_manager_versions: 'false',
    npm_config_omit_lockfile_registry_resolved: 'true',
    PATH: `${dirname(process.execPath)}${delimiter}/usr/bin:/bin`,
  };
  await run(command ?? '', [...args, 'install'], { cwd: directory, env, timeout: 60_000 });
  return {
    directory,
    files: async (lockfile) => ({
      ...files,
      'package.json': await readFile(join(directory, 'package.json'), 'utf8'),
      [lockfile]: await readFile(join(directory, lockfile), 'utf8'),
    }),
    runDirectly: async () => {
      const report = join(directory, 'direct.json');
      const cli = join(directory, 'node_modules/@playwright/test/cli.js');
      await run(process.execPath, [cli, 'test', '--reporter=json'], {
        cwd: directory,
        env: { ...env, PLAYWRIGHT_JSON_OUTPUT_NAME: report },
      }).catch((failed: { readonly code?: unknown }) => {
        if (failed.code !== 1) throw failed;
      });
      const { stats } = JSON.parse(await readFile(report, 'utf8'));
      return {
        expected: stats.expected,
        unexpected: stats.unexpected,
        flaky: stats.flaky,
        skipped: stats.skipped,
      };
    },
    close: () => rm(directory, { recursive: true, force: true, maxRetries: 5 }),
  };
}

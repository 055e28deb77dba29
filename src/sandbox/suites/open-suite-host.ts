import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DependencyCache } from './dependency-cache.ts';
import { type PackageManagers, readNodes, readPackageManagers } from './package-managers.ts';
import type { CodeBundles, SuiteHost } from './suite-host.ts';
import { unpackLibraryPath } from './unpack.ts';

export interface SuiteSettings {
  /** Size limit of the dependency cache, in bytes. */
  readonly cacheMaxBytes: number;
}

/** Opens the archives of suites in a folder of their own. */
export type OpenBundles = (directory: string) => Promise<CodeBundles>;

/** Requirements of suites that are known before the sandboxes are open. */
export interface SuitePlace {
  /** Scripts must be able to read it. */
  readonly readablePaths: readonly string[];
  /** Scripts must not be able to read it: the archives of others. */
  readonly privatePaths: readonly string[];
  /** @param nodePath the Node executable for suites. */
  open(nodePath: string): Promise<SuiteHost>;
}

/**
 * Checks the requirements of Playwright suites.
 *
 * @param options.workDir this agent's own folder, for data kept for later runs.
 * @returns the reason if suites are not available.
 */
export async function findSuitePlace(options: {
  readonly workDir: string;
  readonly runtimesDirectory: string;
  readonly settings: SuiteSettings;
  readonly openBundles: OpenBundles | undefined;
}): Promise<SuitePlace | { readonly missing: string }> {
  const { workDir, openBundles } = options;
  if (!openBundles) return { missing: 'no service is configured to download code bundles from' };
  const packageManagers: PackageManagers = await readPackageManagers(options.runtimesDirectory);
  if (!packageManagers.installed.some(({ manager }) => manager === 'npm')) {
    return { missing: 'no package managers are installed: npm run runtimes:install package-managers' };
  }
  const nodes = await readNodes(options.runtimesDirectory);
  const bundleDirectory = join(workDir, 'bundles');
  await mkdir(bundleDirectory, { recursive: true, mode: 0o700 });
  return {
    readablePaths: [packageManagers.directory, unpackLibraryPath(), ...nodes.map(({ path }) => path)],
    privatePaths: [bundleDirectory],
    open: async (nodePath) => ({
      nodes: [{ version: process.versions.node, path: nodePath }, ...nodes],
      packageManagers,
      bundles: await openBundles(bundleDirectory),
      dependencies: await DependencyCache.open(join(workDir, 'dependencies'), options.settings.cacheMaxBytes),
    }),
  };
}

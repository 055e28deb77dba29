import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DependencyCache } from './dependency-cache.ts';
import { type PackageManagers, readPackageManagers } from './package-managers.ts';
import type { CodeBundles, SuiteHost } from './suite-host.ts';
import { unpackLibraryPath } from './unpack.ts';

export interface SuiteSettings {
  /** How much of what suites installed is kept for later runs, in bytes. */
  readonly cacheMaxBytes: number;
}

/** Gives the archives of suites a folder of their own. */
export type OpenBundles = (directory: string) => Promise<CodeBundles>;

/** What suites need and can be said before there are sandboxes. */
export interface SuitePlace {
  /** Scripts must be able to read it. */
  readonly readablePaths: readonly string[];
  /** Scripts must not be able to read it: the archives of others. */
  readonly privatePaths: readonly string[];
  /** @param nodePath the Node that suites run on. */
  open(nodePath: string): Promise<SuiteHost>;
}

/**
 * Looks for what Playwright suites need.
 *
 * @param options.workDir this agent's own folder, where what is kept for later runs stays.
 * @returns why there are no suites where something is missing.
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
  if (!packageManagers.versions.has('npm')) {
    return { missing: 'no package managers are installed: npm run runtimes:install package-managers' };
  }
  const bundleDirectory = join(workDir, 'bundles');
  await mkdir(bundleDirectory, { recursive: true, mode: 0o700 });
  return {
    readablePaths: [packageManagers.directory, unpackLibraryPath()],
    privatePaths: [bundleDirectory],
    open: async (nodePath) => ({
      nodePath,
      packageManagers,
      bundles: await openBundles(bundleDirectory),
      dependencies: await DependencyCache.open(join(workDir, 'dependencies'), options.settings.cacheMaxBytes),
    }),
  };
}

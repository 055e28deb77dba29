import type { Readable } from 'node:stream';
import type { DependencyCache } from './dependency-cache.ts';
import type { InstalledNode, PackageManagers } from './package-managers.ts';

/** The archives of suites, by key. */
export interface CodeBundles {
  /**
   * Opens an archive whose bytes are verified against the key; fetched first if necessary.
   *
   * @throws BundleMissing if the archive does not exist, the signal's reason if it aborts, and any error of the
   * download.
   */
  open(key: string, signal: AbortSignal): Promise<Readable>;
}

/** The host's facilities for Playwright suites, in addition to those for all scripts. */
export interface SuiteHost {
  readonly bundles: CodeBundles;
  readonly packageManagers: PackageManagers;
  readonly dependencies: DependencyCache;
  /** Versions of Node for suites, accessible to sandboxed code; the first is for suites that ask for none. */
  readonly nodes: readonly [InstalledNode, ...InstalledNode[]];
}

/** The service has no archive with that key. */
export class BundleMissing extends Error {
  constructor(key: string) {
    super(`There is no code bundle ${key}`);
    this.name = 'BundleMissing';
  }
}

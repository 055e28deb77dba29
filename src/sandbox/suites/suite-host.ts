import type { Readable } from 'node:stream';
import type { DependencyCache } from './dependency-cache.ts';
import type { PackageManagers } from './package-managers.ts';

/** The archives of suites, by key. */
export interface CodeBundles {
  /**
   * The bytes of an archive that have proved to be those the key names; fetched first where they are not at
   * hand.
   *
   * @throws BundleMissing when there is no such archive, the signal's reason when it aborts, and whatever
   *   kept it from being fetched.
   */
  open(key: string, signal: AbortSignal): Promise<Readable>;
}

/** What a host has for running Playwright suites, in addition to what all scripts need. */
export interface SuiteHost {
  readonly bundles: CodeBundles;
  readonly packageManagers: PackageManagers;
  readonly dependencies: DependencyCache;
  /** The executable of Node that suites run on: one that sandboxed code can reach. */
  readonly nodePath: string;
}

/** The service has no archive with that key. */
export class BundleMissing extends Error {
  constructor(key: string) {
    super(`There is no code bundle ${key}`);
    this.name = 'BundleMissing';
  }
}

export { isZlibError, Unscrubbable } from './unscrubbable.ts';

import type { SecretFinder } from './secret-finder.ts';

/** What was found in a file: counts and names, never values. */
export interface ScrubReport {
  readonly replacedCount: number;
  /** How many files inside an archive were looked at; 1 for a file by itself. */
  readonly memberCount: number;
  /**
   * Members that were left out because they hold a secret that cannot be removed from them, or cannot be
   * read.
   */
  readonly withheldCount: number;
  /** The first of them. */
  readonly withheld: readonly WithheldMember[];
}

/** A member of an archive that was left out: its name without secrets, and why. */
export interface WithheldMember {
  readonly name: string;
  readonly reason: string;
}

/** Enough to see what is missing. */
export const maxNamedMembers = 20;

export interface ScrubOptions {
  readonly finder: SecretFinder;
  /** What stands in the place of a secret. */
  readonly mask: string;
  readonly signal?: AbortSignal | undefined;
}

/** Nothing is unpacked to more than this: beyond it is a bomb. */
export const maxUnpackedBytes = 2e9;

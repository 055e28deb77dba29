export { isZlibError, Unscrubbable } from '@picket/checks/secrets/unscrubbable.ts';

import type { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';

/** Findings in a file: counts and names, never values. */
export interface ScrubReport {
  readonly replacedCount: number;
  /** Number of files examined in an archive; 1 for a single file. */
  readonly memberCount: number;
  /** Members left out because they contain a secret that cannot be removed, or cannot be read. */
  readonly withheldCount: number;
  /** The first of them. */
  readonly withheld: readonly WithheldMember[];
}

/** A member of an archive that was left out: its scrubbed name, and the reason. */
export interface WithheldMember {
  readonly name: string;
  readonly reason: string;
}

/** Enough to see which files are missing. */
export const maxNamedMembers = 20;

export interface ScrubOptions {
  readonly finder: SecretFinder;
  /** Replacement text for a secret. */
  readonly mask: string;
  readonly signal?: AbortSignal | undefined;
}

/** Limit for decompression: a larger result is a bomb. */
export const maxUnpackedBytes = 2e9;

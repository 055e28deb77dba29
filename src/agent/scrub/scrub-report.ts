import type { SecretFinder } from './secret-finder.ts';

/** What was found in a file: counts, never values. */
export interface ScrubReport {
  readonly replacedCount: number;
  /** How many files inside an archive were looked at; 1 for a file by itself. */
  readonly memberCount: number;
  /**
   * Members that were left out because they hold a secret that cannot be removed from them, or cannot be
   * read.
   */
  readonly withheldCount: number;
}

/**
 * A file holds a secret that cannot be removed from it, or cannot be read as what it says it is: it must not
 * be sent.
 */
export class Unscrubbable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Unscrubbable';
  }
}

export interface ScrubOptions {
  readonly finder: SecretFinder;
  /** What stands in the place of a secret. */
  readonly mask: string;
  readonly signal?: AbortSignal | undefined;
}

/** Nothing is unpacked to more than this: beyond it is a bomb. */
export const maxUnpackedBytes = 2e9;

/** Whether something is no stream of compressed bytes, or a broken one. */
export function isZlibError(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_');
}

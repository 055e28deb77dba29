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

/** Whether something is no stream of compressed bytes, or a broken one. */
export function isZlibError(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_');
}

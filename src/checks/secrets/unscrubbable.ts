/** A file contains a secret that cannot be removed, or does not have the format that it claims: it must not be sent. */
export class Unscrubbable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Unscrubbable';
  }
}

/** Whether data is not a compressed stream, or a corrupt one. */
export function isZlibError(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_');
}

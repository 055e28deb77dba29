/** Texts of other programs that this host's side of the sandbox matches. */

/** Whether the program unshare(1), or who starts it, says why it could not start another one. */
export function isOfUnshare(text: string): boolean {
  return /unshare/.test(text);
}

/** The message of the error that ended a program of Node, in what it wrote to stderr. */
export function thrownMessageIn(stderr: string): string | undefined {
  return /^\w*Error: (.*)$/m.exec(stderr)?.[1];
}

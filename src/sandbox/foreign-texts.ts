/** Patterns for texts of other programs, matched on the host's side of the sandbox. */

/** Returns whether a message explains why unshare(1), or its parent, could not start a program. */
export function isOfUnshare(text: string): boolean {
  return /unshare/.test(text);
}

/** Extracts the message of the error that ended a Node program from its stderr. */
export function thrownMessageIn(stderr: string): string | undefined {
  return /^\w*Error: (.*)$/m.exec(stderr)?.[1];
}

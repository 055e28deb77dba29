/** Texts of PostgreSQL, of poolers before it, and of the client `pg`, which have no code. */

/** Whether a pooler says that it has no connection left. */
export function isAboutRoom(message: string): boolean {
  return /too many clients|no more connections allowed/i.test(message);
}

/** Whether a pooler refuses a parameter that a session needs. */
export function isAboutStartupParameter(message: string): boolean {
  return /unsupported startup parameter/i.test(message);
}

/** Whether the client gave up waiting for an answer. */
export function isReadTimeout(message: string): boolean {
  return /query read timeout/i.test(message);
}

/** Whether the client says that a connection is broken, or that there was none in time. */
export function isBrokenConnection(message: string): boolean {
  return (
    isReadTimeout(message) ||
    /connection terminated|timeout exceeded when trying to connect|not queryable/i.test(message)
  );
}

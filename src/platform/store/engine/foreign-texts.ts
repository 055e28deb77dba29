/** Message texts without codes, of PostgreSQL, poolers in front of it, and the client `pg`. */

/** SQLSTATE of a server that refuses writes, such as a standby. */
export const readOnlyState = '25006';

/** Whether a pooler reports that it has no connection left. */
export function isAboutRoom(message: string): boolean {
  return /too many clients|no more connections allowed/i.test(message);
}

/** Whether a pooler refuses a parameter that a session needs. */
export function isAboutStartupParameter(message: string): boolean {
  return /unsupported startup parameter/i.test(message);
}

/** Whether the client gave up waiting for a response. */
export function isReadTimeout(message: string): boolean {
  return /query read timeout/i.test(message);
}

/** Whether the client reports a broken connection, or a timeout while waiting for one. */
export function isBrokenConnection(message: string): boolean {
  return (
    isReadTimeout(message) ||
    /connection terminated|timeout exceeded when trying to connect|not queryable/i.test(message)
  );
}

/** SQLite result codes: another connection holds the lock, and the file is not a database. */
export const sqliteBusy = 5;
export const sqliteNotADatabase = 26;

/** Returns the result code of an SQLite error. */
export function sqliteCodeOf(error: Error): number | null {
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

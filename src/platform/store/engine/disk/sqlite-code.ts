/** SQLite result codes: another connection holds the lock, and the file is no database. */
export const sqliteBusy = 5;
export const sqliteNotADatabase = 26;

/** The result code of an error of SQLite. */
export function sqliteCodeOf(error: Error): number | null {
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

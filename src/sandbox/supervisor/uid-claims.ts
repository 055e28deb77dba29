import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Number of user ids to try, starting with the first. */
const rangeLength = 1000;

/**
 * Locks that the kernel releases when the process ends, however it ends: SQLite's, on empty databases. Node offers
 * neither flock nor fcntl.
 */
export class Claims {
  readonly #held: DatabaseSync[] = [];

  /** Acquires a lock named by a file; false if another process holds it. */
  claim(path: string): boolean {
    const database = new DatabaseSync(path);
    try {
      database.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    } catch {
      // Another process holds it.
      database.close();
      return false;
    }
    this.#held.push(database);
    return true;
  }

  /** Releases all locks. */
  release(): void {
    for (const database of this.#held.splice(0)) database.close();
  }
}

/**
 * Claims user ids that no other agent on this host uses and that no account has.
 *
 * @throws Error if there are not enough.
 */
export function claimUids(claims: Claims, directory: string, firstUid: number, count: number): number[] {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const named = namedUids();
  const claimed: number[] = [];
  for (let uid = firstUid; uid < firstUid + rangeLength && claimed.length < count; uid += 1) {
    if (!named.has(uid) && claims.claim(join(directory, String(uid)))) claimed.push(uid);
  }
  if (claimed.length < count) {
    throw new Error(`only ${claimed.length} of ${count} user ids from ${firstUid} on are free`);
  }
  return claimed;
}

function namedUids(): ReadonlySet<number> {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return new Set(lines.map((line) => Number(line.split(':')[2])).filter(Number.isInteger));
  } catch {
    return new Set(); // an image without accounts
  }
}

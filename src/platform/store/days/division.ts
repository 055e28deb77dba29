import { errorCodeOf } from '@picket/lib/errors.ts';
import type pg from 'pg';

/** An arbitrary advisory-lock number that other programs on the same database are unlikely to use. */
const divisionLock = 7_425_381_002;
const lockTimeoutMs = 300;
const lockNotAvailable = '55P03';

/** Acquires the right to convert a table for the lifetime of the connection; false while another process holds it. */
export async function takeTurn(client: pg.Client): Promise<boolean> {
  // A killed process leaves a running statement behind; the server cancels it.
  await client.query(`set client_connection_check_interval = '1s'`);
  const lock = await client.query('select pg_try_advisory_lock($1) as held', [divisionLock]);
  return lock.rows[0]?.held === true;
}

/** Executes statements in one exclusive transaction; false if the lock is not granted in time. */
export async function briefly(
  client: pg.Client,
  table: 'results' | 'runs',
  statements: readonly string[],
): Promise<boolean> {
  try {
    await client.query(
      [
        'begin',
        `set local lock_timeout = ${lockTimeoutMs}`,
        `lock table ${table} in access exclusive mode`,
        ...statements,
        'commit',
      ].join(';\n'),
    );
    return true;
  } catch (thrown) {
    await client.query('rollback');
    if (errorCodeOf(thrown) === lockNotAvailable) return false;
    throw thrown;
  }
}

import { errorCodeOf } from '@picket/lib/errors.ts';
import type pg from 'pg';

/** Any number that other programs on the same database are unlikely to use for an advisory lock. */
const divisionLock = 7_425_381_002;
const lockTimeoutMs = 300;
const lockNotAvailable = '55P03';

/** Takes the right to convert a table, for as long as the connection lasts; false while another process has it. */
export async function takeTurn(client: pg.Client): Promise<boolean> {
  // A process that was killed leaves a statement behind that nobody waits for.
  await client.query(`set client_connection_check_interval = '1s'`);
  const lock = await client.query('select pg_try_advisory_lock($1) as held', [divisionLock]);
  return lock.rows[0]?.held === true;
}

/** Carries out statements that nobody may meet, in one transaction; false where others hold the table for too long. */
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

import type { Logger } from '@picket/lib/log.ts';
import type pg from 'pg';
import { dayMs, dayOf } from './day-ranges.ts';
import { briefly, takeTurn } from './division.ts';
import { checkOf, instantOf, keysOfPartition, resultTables, takingResultsBefore } from './result-tables.ts';

/**
 * Number of days, including today, that stay in the old table. Between the constraint and the end of the work no later
 * results can be stored, and the converting process may be killed and resume after a weekend.
 */
const beginAfterDays = 7;

/**
 * Partitions a non-empty table of results while the service runs: it builds two indexes and validates one constraint
 * without blocking, and a transaction of milliseconds attaches the table to a new one. Each step checks the current
 * state, so that the work resumes after a kill at any instant.
 *
 * @param client a separate connection, whose statements may take any time.
 * @returns false while another process converts or locks are held too long: to be retried.
 */
export async function divideResults(client: pg.Client, now: number, logger: Logger): Promise<boolean> {
  if (!(await takeTurn(client))) return false;
  const { rows } = await client.query(
    `select relkind, reltuples::bigint as rows from pg_class where oid = 'results'::regclass`,
  );
  if (rows[0]?.relkind === 'p') return true;
  logger.info(
    { results: Number(rows[0]?.rows) },
    'converting results to daily partitions; the service stays available',
  );
  for (const key of keysOfPartition) await buildKey(client, key, logger);
  const until = await proveUntil(client, now, logger);
  if (until === undefined) return false;
  const isDone = await briefly(client, 'results', [...resultTables.dividing, ...takingResultsBefore(until)]);
  if (isDone)
    logger.info({ until: new Date(until).toISOString() }, 'results are partitions by day from now on');
  return isDone;
}

async function buildKey(
  client: pg.Client,
  { name, on }: (typeof keysOfPartition)[number],
  logger: Logger,
): Promise<void> {
  const { rows } = await client.query(
    `select indisvalid from pg_index join pg_class on pg_class.oid = indexrelid
     where indrelid = 'results'::regclass and relname = $1`,
    [name],
  );
  if (rows[0]?.indisvalid === true) return;
  // Left by an interrupted build.
  if (rows[0]) await client.query(`drop index concurrently ${name}`);
  const startedMs = performance.now();
  logger.info({ index: name }, 'results become partitions by day: building an index');
  await client.query(`create unique index concurrently ${name} on results ${on}`);
  const tookMs = Math.round(performance.now() - startedMs);
  logger.info({ index: name, tookMs }, 'results become partitions by day: built an index');
}

/** Returns the validated upper time bound of the unpartitioned table; undefined if the lock was not granted. */
async function proveUntil(client: pg.Client, now: number, logger: Logger): Promise<number | undefined> {
  const { rows } = await client.query(
    `select conname, convalidated from pg_constraint
     where conrelid = 'results'::regclass and conname like 'results\\_until\\_%'`,
  );
  let until = rows[0] ? instantOf(rows[0].conname) : undefined;
  if (until !== undefined && until < now + dayMs) {
    // Left by a process that was killed long ago. New results must not violate it.
    if (!(await briefly(client, 'results', [`alter table results drop constraint ${checkOf(until)}`])))
      return undefined;
    until = undefined;
  }
  if (until === undefined) {
    const newest = await client.query('select max(created) as at from results');
    const soonest = dayOf(now) + beginAfterDays * dayMs;
    until = Math.max(soonest, dayOf(Number(newest.rows[0]?.at)) + dayMs);
    if (until > soonest) {
      logger.warn(
        { until: new Date(until).toISOString() },
        'some results are dated in the future: daily partitions begin after them; until then rows are deleted one by one',
      );
    }
    const added = await briefly(client, 'results', [
      `alter table results add constraint ${checkOf(until)} check (created < ${until}) not valid`,
    ]);
    if (!added) return undefined;
  }
  if (rows[0]?.convalidated !== true || instantOf(rows[0].conname) !== until) {
    logger.info('results become partitions by day: reading all of them once');
    await client.query(`alter table results validate constraint ${checkOf(until)}`);
  }
  return until;
}

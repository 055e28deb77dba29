import type { Logger } from '@picket/lib/log.ts';
import type pg from 'pg';
import { dayMs, dayOf } from './day-ranges.ts';
import { briefly, takeTurn } from './division.ts';
import { checkOf, instantOf, keysOfPartition, resultTables, takingResultsBefore } from './result-tables.ts';

/**
 * How many days, the present one counted, stay in the table of before. From the moment that is said to the end of the work no later
 * results can be stored, and the process that does the work may be killed and come back after a weekend.
 */
const beginAfterDays = 7;

/**
 * Makes partitions of a table of results that has rows, while the service goes on: two indexes are built and one
 * condition is proven without holding anybody up, and a transaction of milliseconds puts the table under a new
 * one. Each step looks at what is there, so that the next one goes on from any instant at which the last
 * was killed.
 *
 * @param client a connection of its own, whose statements may take as long as they do.
 * @returns false while another process is at it, or others use the table for too long: to be tried again.
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
  // One that was not built to its end.
  if (rows[0]) await client.query(`drop index concurrently ${name}`);
  const startedMs = performance.now();
  logger.info({ index: name }, 'results become partitions by day: building an index');
  await client.query(`create unique index concurrently ${name} on results ${on}`);
  const tookMs = Math.round(performance.now() - startedMs);
  logger.info({ index: name, tookMs }, 'results become partitions by day: built an index');
}

/** Up to when the table without days has all results, once that is proven; undefined where nobody lets us. */
async function proveUntil(client: pg.Client, now: number, logger: Logger): Promise<number | undefined> {
  const { rows } = await client.query(
    `select conname, convalidated from pg_constraint
     where conrelid = 'results'::regclass and conname like 'results\\_until\\_%'`,
  );
  let until = rows[0] ? instantOf(rows[0].conname) : undefined;
  if (until !== undefined && until < now + dayMs) {
    // Left by one that was killed long ago. What is stored must not meet it.
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

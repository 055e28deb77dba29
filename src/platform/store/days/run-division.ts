import type { Logger } from '@picket/lib/log.ts';
import type pg from 'pg';
import { nameBeforeRunDays } from '../engine/queries.ts';
import { missingRanges } from './day-ranges.ts';
import { briefly, takeTurn } from './division.ts';
import { beforeCheck, runTables, takingRunsBefore } from './run-tables.ts';

const aheadDays = 3;

/**
 * Parts runs on their way from those that ended, in a table of runs that has both, while the service goes on: the
 * condition under which the table becomes a partition holds from the migration on (a trigger sees to it), is proven
 * without holding anybody up, and a transaction of milliseconds puts the table under a new one. Runs that are on their way then
 * leave it when they end. Each step looks at what is there, so that the next one goes on from any instant at which
 * the last was killed.
 *
 * Builds before insert runs by a unique key that no table of partitions can have. So nothing is done as long as one is
 * connected.
 *
 * @param client a connection of its own, whose statements may take as long as they do.
 * @returns false while another process is at it, or others use the table for too long: to be tried again.
 */
export async function divideRuns(
  client: pg.Client,
  now: number,
  logger: Logger,
  isFirstTry = true,
): Promise<boolean> {
  if (!(await takeTurn(client))) return false;
  const { rows } = await client.query(
    `select relkind, reltuples::bigint as rows from pg_class where oid = 'runs'::regclass`,
  );
  if (rows[0]?.relkind === 'p') return true;
  if (await isOlderBuildConnected(client)) {
    const level = isFirstTry ? 'info' : 'debug';
    logger[level]('runs become partitions by day once no service process of an older version is connected');
    return false;
  }
  logger.info(
    { runs: Number(rows[0]?.rows) },
    'converting runs to daily partitions; the service stays available',
  );
  const constraint = await client.query(
    `select convalidated from pg_constraint where conrelid = 'runs'::regclass and conname = $1`,
    [beforeCheck.name],
  );
  if (!constraint.rows[0]) {
    const { name, condition } = beforeCheck;
    const add = `alter table runs add constraint ${name} check (${condition}) not valid`;
    if (!(await briefly(client, 'runs', [add]))) return false;
  }
  if (constraint.rows[0]?.convalidated !== true) {
    logger.info('runs become partitions by day: reading all of them once');
    await client.query(`alter table runs validate constraint ${beforeCheck.name}`);
  }
  const days = missingRanges([], now, { aheadDays, lengthDays: 1 });
  const isDone = await briefly(client, 'runs', [
    ...runTables.dividing,
    ...takingRunsBefore,
    ...days.flatMap((day) => runTables.adding(day)),
  ]);
  if (isDone) logger.info('runs are partitions by day from now on');
  return isDone;
}

async function isOlderBuildConnected(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_stat_activity where datname = current_database() and application_name = $1 limit 1`,
    [nameBeforeRunDays],
  );
  return rows.length > 0;
}

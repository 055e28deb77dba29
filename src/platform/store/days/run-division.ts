import type { Logger } from '@picket/lib/log.ts';
import type pg from 'pg';
import { nameBeforeRunDays } from '../engine/queries.ts';
import { missingRanges } from './day-ranges.ts';
import { briefly, takeTurn } from './division.ts';
import { beforeCheck, runTables, takingRunsBefore } from './run-tables.ts';

const aheadDays = 3;

/**
 * Separates runs in progress from ended ones, in an unpartitioned table of runs, while the service runs: the constraint
 * under which the table becomes a partition holds since the migration (a trigger ensures it), is validated without
 * blocking, and a transaction of milliseconds attaches the table to a new one. Runs that are in progress at that time
 * leave it when they end. Each step checks the current state, so that the work resumes after a kill at any instant.
 *
 * Older builds insert runs by a unique key that no partitioned table can have. So nothing is done while one is
 * connected.
 *
 * @param client a separate connection, whose statements may take any time.
 * @returns false while another process converts or locks are held too long: to be retried.
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

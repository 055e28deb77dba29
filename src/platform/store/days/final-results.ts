import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';

type Column = keyof Tables['results'];

/** Columns of a run that date its result. */
interface Ended {
  readonly id: string;
  readonly state: string;
  readonly ended: number | null;
  readonly slot_at: number;
  readonly last_result_id: string | null;
}

/** Tolerance for clock changes between the attempts of a run; beyond it, all days are searched. */
const slackMs = 24 * 3_600_000;

/**
 * Returns columns of the final results of runs by run id, with a separate statement that restricts the time. A join
 * with the runs would search every daily partition of the results.
 */
export async function finalResultsOf<const Name extends Column>(
  db: Kysely<Tables>,
  dialect: Dialect,
  runs: readonly Ended[],
  columns: readonly Name[],
): Promise<Map<string, Pick<Tables['results'], Name | 'run_id'>>> {
  type Row = Pick<Tables['results'], Name | 'run_id'>;
  const final = runs.filter((run) => run.state === 'final' && run.ended !== null);
  const found = new Map<string, Row>();
  const find = async (some: readonly Ended[], from: number, to: number) => {
    if (some.length === 0) return;
    const rows = await db
      .selectFrom('results')
      .select(['run_id', ...columns] as const)
      .where(
        dialect.inList(
          'run_id',
          some.map(({ id }) => id),
        ),
      )
      // A literal, so that the planner uses the partial index of final results.
      .where('result_type', '=', sql.lit('FINAL' as const))
      .where('created', '>=', from)
      .where('created', '<=', to)
      .execute();
    for (const row of rows as unknown as Row[]) found.set(row.run_id, row);
  };
  const once = final.filter((run) => run.last_result_id === null);
  const [first, last] = spanOf(once);
  await find(once, first, last);
  // The last attempt of a run may be its result, and is older than its end.
  const tried = final.filter((run) => run.last_result_id !== null);
  await find(tried, spanOf(tried)[0] - slackMs, spanOf(tried)[1] + slackMs);
  const others = final.filter(({ id }) => !found.has(id));
  await find(others, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return found;
}

/** Returns the earliest and latest instants of the runs; of runs without attempts, only the end counts. */
function spanOf(runs: readonly Ended[]): readonly [number, number] {
  const instants = runs.flatMap((run) => {
    const ended = run.ended ?? 0;
    return run.last_result_id === null ? [ended] : [ended, run.slot_at];
  });
  return [leastOf(instants), greatestOf(instants)];
}

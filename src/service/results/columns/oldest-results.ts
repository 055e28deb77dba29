import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Kysely, sql } from 'kysely';

/**
 * Time of the final result of each check at an offset from an instant, if it is not after `latest`. One statement for
 * many checks, which reads only an index: for checks without chunks, every day of results has to be searched.
 */
export async function oldestResults(
  db: Kysely<Tables>,
  dialect: Dialect,
  since: readonly (readonly [checkId: string, since: number])[],
  latest: number,
  offset = 0,
): Promise<Map<string, number>> {
  if (since.length === 0) return new Map();
  const earliest = leastOf(since.map(([, at]) => at));
  const { rows } = await sql<{ check_id: string; at: number | null }>`
    select asked.check_id, (select created from results
      where results.check_id = asked.check_id and result_type = 'FINAL' and created >= asked.since
        and created >= ${earliest} and created <= ${latest}
      order by created limit 1 offset ${offset}) as at
    from ${dialect.pairRows(['check_id', 'since'], since)} as asked`.execute(db);
  return new Map(rows.flatMap(({ check_id: id, at }) => (at === null ? [] : [[id, at]])));
}

import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { AgentErrorRow } from '../tables.ts';

/** Limit of kinds of errors per location; the one unseen for longest is dropped. */
const maxKindsPerLocation = 500;

/** Errors that agents reported about themselves. Similar errors share one row with a count. */
export class AgentErrors extends Repository {
  /** Counts an error; the first of its kind inserts the row. */
  async record(row: AgentErrorRow): Promise<void> {
    await this.db
      .insertInto('agent_errors')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['location_id', 'fingerprint']).doUpdateSet((old) => ({
          count: old('agent_errors.count', '+', 1),
          last_seen: row.last_seen,
          agent_version: row.agent_version,
          platform: row.platform,
          runtime: row.runtime,
        })),
      )
      .execute();
    const kept = this.db
      .selectFrom('agent_errors')
      .select('id')
      .where('location_id', '=', row.location_id)
      .orderBy('last_seen', 'desc')
      .orderBy('id')
      .limit(maxKindsPerLocation);
    await this.db
      .deleteFrom('agent_errors')
      .where('location_id', '=', row.location_id)
      .where('id', 'not in', kept)
      .execute();
  }

  /** Errors of a location, newest first, and their total number. */
  async list(
    locationId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ rows: AgentErrorRow[]; total: number }> {
    const all = this.db.selectFrom('agent_errors').where('location_id', '=', locationId);
    const { total } = await all
      .select(({ fn }) => fn.countAll<number | string>().as('total'))
      .executeTakeFirstOrThrow();
    const rows = await all
      .selectAll()
      .orderBy('last_seen', 'desc')
      .orderBy('id')
      .limit(page.limit)
      .offset(page.offset)
      .execute();
    return { rows, total: Number(total) };
  }
}

import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { ArtifactRow } from '../tables.ts';

/** Inlined: with a parameter SQLite would not recognise that the index of awaited artifacts applies. */
const awaited = sql.lit('awaited' as const);

/** Artifacts that results name, and their states. The bytes are in the artifact store. */
export class Artifacts extends Repository {
  async insert(rows: readonly Omit<ArtifactRow, 'trouble'>[]): Promise<void> {
    for (const batch of batches(rows)) await this.db.insertInto('artifacts').values(batch).execute();
  }

  /** Artifacts of the given results, in the order in which the results name them. */
  async ofResults(resultIds: readonly string[]): Promise<Map<string, ArtifactRow[]>> {
    if (resultIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('artifacts')
      .selectAll()
      .where(this.dialect.inList('result_id', resultIds))
      .orderBy('result_id')
      .orderBy('position')
      .execute();
    return Map.groupBy(rows.map(withTrouble), (row) => row.result_id);
  }

  /** Artifact with that name that is awaited, stored or lost; refused ones have no bytes to expect. */
  async find(resultId: string, name: string): Promise<ArtifactRow | undefined> {
    return this.db
      .selectFrom('artifacts')
      .selectAll()
      .where('result_id', '=', resultId)
      .where('name', '=', name)
      .where('state', 'in', ['awaited', 'stored', 'lost'])
      .executeTakeFirst();
  }

  /** Makes an awaited artifact visible. Returns false if it is not (or no longer) awaited. */
  async markStored(resultId: string, position: number, now: number): Promise<boolean> {
    const done = await this.db
      .updateTable('artifacts')
      .set({ state: 'stored', stored: now, trouble: null })
      .where('result_id', '=', resultId)
      .where('position', '=', position)
      .where('state', '=', 'awaited')
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  /** Records why an awaited artifact could not be stored; its sender retries. */
  async recordTrouble({ result_id, position }: ArtifactRow, trouble: string): Promise<void> {
    await this.db
      .updateTable('artifacts')
      .set({ trouble })
      .where('result_id', '=', result_id)
      .where('position', '=', position)
      .where('state', '=', 'awaited')
      .execute();
  }

  /** Marks as lost what was announced before `before` and has not arrived. */
  async loseAwaited(before: number): Promise<void> {
    const overdue = await this.db
      .selectFrom('artifacts')
      .select('result_id')
      .where('state', '=', awaited)
      .where('created', '<', before)
      .limit(1)
      .executeTakeFirst();
    if (!overdue) return;
    await this.db
      .updateTable('artifacts')
      .set({
        state: 'lost',
        reason: sql`case when trouble is null then 'the agent did not send it in time'
          else 'it was not stored within an hour: ' || trouble end`,
      })
      .where('state', '=', awaited)
      .where('created', '<', before)
      .execute();
  }
}

/** While a file is awaited, readers see what keeps it from being stored. */
function withTrouble(row: ArtifactRow): ArtifactRow {
  return row.state === 'awaited' && row.trouble !== null ? { ...row, reason: row.trouble } : row;
}

import type { ColumnTypes } from '@picket/platform/store/engine/dialect.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { DetailCountRow } from '../tables.ts';

/** Number of passes per check and location since the last one whose detail was kept. */
export class DetailCounts extends Repository {
  async of(checkIds: readonly string[]): Promise<DetailCountRow[]> {
    if (checkIds.length === 0) return [];
    return this.db
      .selectFrom('detail_counts')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .execute();
  }

  /** Stores counts, each once, in order of their keys, so that two transactions never deadlock. */
  async put(rows: readonly DetailCountRow[]): Promise<void> {
    const insertion = { db: this.db, table: 'detail_counts', types: detailCountColumnTypes, rows } as const;
    const changes = this.dialect.inserting(insertion, (insert) =>
      insert.onConflict((conflict) =>
        conflict
          .columns(['check_id', 'location'])
          .doUpdateSet({ passes: sql`excluded.passes`, kept: sql`excluded.kept` }),
      ),
    );
    for (const change of changes) await change.execute();
  }
}

const detailCountColumnTypes: ColumnTypes<DetailCountRow> = {
  check_id: 'text',
  location: 'text',
  passes: 'integer',
  kept: 'bigint',
};

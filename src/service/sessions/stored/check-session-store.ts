import { unpackRow } from '@picket/platform/store/details/packed-detail.ts';
import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CountedResultRow, ResultRow } from '../../results/tables.ts';
import type { RunRow } from '../../runs/tables.ts';
import type { CheckSessionRow } from './tables.ts';

/** Check sessions: requests to run checks now. Their progress follows from their runs; nothing is stored twice. */
export class CheckSessions extends Repository {
  async insert(rows: readonly CheckSessionRow[]): Promise<void> {
    for (const batch of batches(rows)) await this.db.insertInto('check_sessions').values(batch).execute();
  }

  async find(accountId: string, id: string): Promise<CheckSessionRow | undefined> {
    return this.db
      .selectFrom('check_sessions')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  async recordCancelled(id: string, now: number): Promise<void> {
    await this.db
      .updateTable('check_sessions')
      .set({ cancelled: now })
      .where('id', '=', id)
      .where('cancelled', 'is', null)
      .execute();
  }

  /** Runs of sessions, in order of their locations. */
  async runs(ids: readonly string[]): Promise<RunRow[]> {
    if (ids.length === 0) return [];
    return this.db
      .selectFrom('runs')
      .selectAll()
      .where(this.dialect.inList('check_session_id', ids))
      .orderBy('check_run_id')
      .execute();
  }

  /** Results of a session's runs, oldest first. */
  async results(session: CheckSessionRow): Promise<ResultRow[]> {
    const runs = this.db.selectFrom('runs').select('id').where('check_session_id', '=', session.id);
    const rows = await this.db
      .selectFrom('results')
      .selectAll()
      .where('check_id', '=', session.check_id)
      .where('created', '>=', session.started)
      .where('run_id', 'in', runs)
      .orderBy('created')
      .orderBy('attempts')
      .orderBy('id')
      .execute();
    return rows.map((row) => unpackRow<CountedResultRow>(row));
  }

  /** Start times of the calls of a trigger since an instant. */
  async callsSince(triggerId: string, since: number): Promise<number[]> {
    const rows = await this.db
      .selectFrom('check_sessions')
      .select('started')
      .distinct()
      .where('trigger_id', '=', triggerId)
      .where('started', '>', since)
      .orderBy('started')
      .execute();
    return rows.map((row) => row.started);
  }
}

import { isBehind } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Cursor } from '@picket/protocol/http/cursor.ts';
import { sql } from 'kysely';
import type { AuditRow } from './tables.ts';

export interface AuditFilter {
  /** Null: also rows that belong to no account. */
  readonly accountId: string | null;
  readonly resource?: string | undefined;
  readonly actorId?: string | undefined;
  readonly operation?: string | undefined;
  readonly outcome?: AuditRow['outcome'] | undefined;
  /** Inclusive, in epoch milliseconds. */
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
  /** Excludes rows that only admins may see. */
  readonly isForAll?: boolean;
}

/** The audit log. Rows are written once, and completed once the write is done. */
export class AuditLog extends Repository {
  async insert(row: AuditRow): Promise<void> {
    await this.db.insertInto('audit_log').values(row).execute();
  }

  /** Number of writes of an account that began since an instant. */
  async countSince(accountId: string, since: number): Promise<number> {
    const row = await this.db
      .selectFrom('audit_log')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('account_id', '=', accountId)
      .where('created', '>=', since)
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  /** Completes a row with its outcome. */
  async complete(
    id: string,
    end: Pick<AuditRow, 'outcome' | 'resource' | 'resource_name' | 'changes'>,
  ): Promise<void> {
    await this.db.updateTable('audit_log').set(end).where('id', '=', id).execute();
  }

  /** Deletes the row of a rejected write, which changed nothing. */
  async remove(id: string): Promise<void> {
    await this.db.deleteFrom('audit_log').where('id', '=', id).execute();
  }

  /** Matching rows, newest first, after a cursor. */
  async list(filter: AuditFilter, limit: number, cursor?: Cursor): Promise<AuditRow[]> {
    let query = this.db
      .selectFrom('audit_log')
      .selectAll()
      .orderBy('created', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    const { accountId, resource, actorId, operation, outcome, from, to } = filter;
    if (accountId !== null) query = query.where('account_id', '=', accountId);
    if (resource !== undefined) query = query.where('resource', '=', resource);
    if (actorId !== undefined) query = query.where('actor_id', '=', actorId);
    if (operation !== undefined) query = query.where('operation', '=', operation);
    if (outcome !== undefined) query = query.where('outcome', '=', outcome);
    if (from !== undefined) query = query.where('created', '>=', from);
    if (to !== undefined) query = query.where('created', '<', to);
    if (filter.isForAll) query = query.where('for_admins', '=', 0);
    if (cursor) query = query.where(isBehind(cursor));
    return query.execute();
  }

  /** A token that changes with every write of the account. */
  async lastWrite(accountId: string): Promise<string> {
    const row = await this.db
      .selectFrom('audit_log')
      .select((eb) => ['created', eb.fn.countAll<number>().as('writes')])
      .select(sql<number>`sum(case when outcome = 'UNKNOWN' then 1 else 0 end)`.as('unfinished'))
      .where('account_id', '=', accountId)
      .groupBy('created')
      .orderBy('created', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row ? `${row.created} ${row.writes} ${row.unfinished}` : '';
  }

  /** Deletes up to `limit` rows from before an instant, oldest first; returns whether there may be more. */
  async prune(before: number, limit: number): Promise<boolean> {
    const old = this.db
      .selectFrom('audit_log')
      .select('id')
      .where('created', '<', before)
      .orderBy('created')
      .limit(limit);
    const done = await this.db.deleteFrom('audit_log').where('id', 'in', old).executeTakeFirst();
    return Number(done.numDeletedRows) === limit;
  }
}

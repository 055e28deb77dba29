import { readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { ErrorGroupRow } from '../tables.ts';

/** Owner of groups. */
export interface GroupOwner {
  readonly accountId: string;
  readonly kind: ErrorGroupRow['kind'];
  /** Id of the check or the project; '' for test sessions without a project. */
  readonly ownerId: string;
}

export interface GroupFilter {
  readonly accountId: string;
  readonly kind: ErrorGroupRow['kind'];
  readonly ownerId?: string | undefined;
  readonly includeArchived: boolean;
}

/** Groups of similar errors. */
export class ErrorGroups extends Repository {
  /** The newest groups of an owner, as candidates for a new message. */
  async newest(owner: GroupOwner, limit: number): Promise<ErrorGroupRow[]> {
    return this.db
      .selectFrom('error_groups')
      .selectAll()
      .where('kind', '=', owner.kind)
      .where('account_id', '=', owner.accountId)
      .where('owner_id', '=', owner.ownerId)
      .orderBy('last_seen', 'desc')
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** Groups with the given hashes, by `groupKey`. All errors belong to one account and kind. */
  async findByHashes(
    errors: readonly { readonly owner: GroupOwner; readonly hash: string }[],
  ): Promise<Map<string, ErrorGroupRow>> {
    const owner = errors[0]?.owner;
    if (!owner) return new Map();
    const rows = await this.db
      .selectFrom('error_groups')
      .selectAll()
      .where('account_id', '=', owner.accountId)
      .where('kind', '=', owner.kind)
      .where(this.dialect.inList('owner_id', [...new Set(errors.map((error) => error.owner.ownerId))]))
      .where(this.dialect.inList('error_hash', [...new Set(errors.map(({ hash }) => hash))]))
      .execute();
    return new Map(rows.map((row) => [groupKey(ownerOf(row), row.error_hash), row]));
  }

  /** Inserts a group, or finds the one that another transaction inserted meanwhile. */
  async insert(row: ErrorGroupRow): Promise<ErrorGroupRow> {
    return this.db
      .insertInto('error_groups')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'kind', 'owner_id', 'error_hash'])
          .doUpdateSet({ last_seen: row.last_seen }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  /** Counts failed runs per error: a group that was archived is reopened. */
  async countSeen(
    seen: readonly {
      readonly id: string;
      readonly runs: number;
      readonly environments: string;
      readonly tests: string | null;
    }[],
    now: number,
  ): Promise<void> {
    const alike = Map.groupBy(seen, ({ runs, environments, tests }) => `${runs} ${environments} ${tests}`);
    for (const groups of alike.values()) {
      const [first] = groups;
      if (!first) continue;
      const ids = this.db
        .selectFrom('error_groups')
        .select('id')
        .where(
          this.dialect.inList(
            'id',
            groups.map(({ id }) => id),
          ),
        )
        .orderBy('id')
        .modifyEnd(this.dialect.forUpdate);
      await this.db
        .updateTable('error_groups')
        .set((eb) => ({
          count: eb('count', '+', first.runs),
          last_seen: now,
          is_archived: 0 as const,
          environments: first.environments,
          tests: first.tests,
        }))
        .where(this.dialect.inLocked('id', ids))
        .execute();
    }
  }

  async find(accountId: string, kind: ErrorGroupRow['kind'], id: string): Promise<ErrorGroupRow | undefined> {
    return this.db
      .selectFrom('error_groups')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('kind', '=', kind)
      .executeTakeFirst();
  }

  /** Archives or unarchives a group; returns the updated group. */
  async archive(
    group: ErrorGroupRow,
    change: Partial<Pick<ErrorGroupRow, 'is_archived' | 'is_archived_for_ever'>>,
  ): Promise<ErrorGroupRow | undefined> {
    if (Object.keys(change).length === 0) return group;
    return this.db
      .updateTable('error_groups')
      .set(change)
      .where('id', '=', group.id)
      .returningAll()
      .executeTakeFirst();
  }

  /** Groups, most recently seen first, and their total number. */
  async list(
    filter: GroupFilter,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ total: number; groups: ErrorGroupRow[] }> {
    let query = this.db
      .selectFrom('error_groups')
      .where('account_id', '=', filter.accountId)
      .where('kind', '=', filter.kind);
    if (filter.ownerId !== undefined) query = query.where('owner_id', '=', filter.ownerId);
    if (!filter.includeArchived) {
      query = query.where('is_archived', '=', 0).where('is_archived_for_ever', '=', 0);
    }
    const ordered = query.selectAll().orderBy('last_seen', 'desc').orderBy('id', 'desc');
    const { total, rows: groups } = await readPage(ordered, page);
    return { total, groups };
  }

  /** Deletes the groups of a deleted check. */
  async deleteOfCheck(accountId: string, checkId: string): Promise<void> {
    await this.db
      .deleteFrom('error_groups')
      .where('account_id', '=', accountId)
      .where('kind', '=', 'check')
      .where('owner_id', '=', checkId)
      .execute();
  }
}

/** Key of an error of an owner. */
export function groupKey(owner: GroupOwner, hash: string): string {
  return `${owner.kind} ${owner.accountId} ${owner.ownerId} ${hash}`;
}

function ownerOf(row: ErrorGroupRow): GroupOwner {
  return { accountId: row.account_id, kind: row.kind, ownerId: row.owner_id };
}

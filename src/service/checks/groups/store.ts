import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { escapeLike } from '@picket/platform/store/engine/dialect.ts';
import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { CheckGroupInput } from '@picket/protocol/checks/check-group.ts';
import { type Selectable, sql } from 'kysely';
import type { CheckGroupRow } from './tables.ts';

/** A stored group of checks. */
export interface CheckGroup {
  readonly id: number;
  readonly accountId: string;
  /** As its schema returned it. */
  readonly definition: Record<string, unknown>;
  readonly created: number;
  readonly updated: number | null;
}

/** Columns of a group that are written. */
export interface CheckGroupWrite {
  readonly name: string;
  readonly tags: readonly string[];
  /** Regions and slugs. */
  readonly locations: readonly string[];
  readonly definition: Readonly<Record<string, unknown>>;
}

export interface CheckGroupFilter {
  readonly tags?: readonly string[] | undefined;
  /** Part of the name, case-insensitive. */
  readonly name?: string | undefined;
}

export class CheckGroups extends accountTable<CheckGroupRow, CheckGroup>(fromRow)({
  name: 'check_groups',
  key: 'id',
}) {
  async add(accountId: string, write: CheckGroupWrite, now: number): Promise<CheckGroup> {
    const row = await this.db
      .insertInto('check_groups')
      .values({ account_id: accountId, created: now, updated: null, ...columns(write) })
      .returningAll()
      .executeTakeFirstOrThrow();
    await this.#writeLists(row.id, write);
    return fromRow(row);
  }

  async change(id: number, write: CheckGroupWrite, now: number): Promise<void> {
    await this.db
      .updateTable('check_groups')
      .set({ ...columns(write), updated: now })
      .where('id', '=', id)
      .execute();
    await this.db.deleteFrom('check_group_tags').where('group_id', '=', id).execute();
    await this.db.deleteFrom('check_group_locations').where('group_id', '=', id).execute();
    await this.#writeLists(id, write);
  }

  async #writeLists(id: number, write: CheckGroupWrite): Promise<void> {
    const tags = [...new Set(write.tags)].map((tag) => ({ group_id: id, tag }));
    if (tags.length > 0) await this.db.insertInto('check_group_tags').values(tags).execute();
    const locations = [...new Set(write.locations)].map((name) => ({ group_id: id, name }));
    if (locations.length > 0) await this.db.insertInto('check_group_locations').values(locations).execute();
  }

  async findMany(ids: readonly number[]): Promise<Map<number, CheckGroup>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('check_groups')
      .selectAll()
      .where('id', 'in', [...new Set(ids)])
      .execute();
    return new Map(rows.map((row) => [row.id, fromRow(row)]));
  }

  /** A page of an account's groups, newest first. */
  async listMatching(
    accountId: string,
    filter: CheckGroupFilter,
    page: Page,
  ): Promise<{ total: number; rows: CheckGroup[] }> {
    let query = this.db.selectFrom('check_groups').where('account_id', '=', accountId);
    const { tags, name } = filter;
    if (name !== undefined) {
      const pattern = `%${escapeLike(name.toLowerCase())}%`;
      query = query.where(sql<boolean>`name_search like ${pattern} escape '\\'`);
    }
    if (tags !== undefined) {
      query = query.where('id', 'in', (eb) =>
        eb.selectFrom('check_group_tags').select('group_id').where(this.dialect.inList('tag', tags)),
      );
    }
    const ordered = query.selectAll().orderBy('created', 'desc').orderBy('id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, rows: rows.map(fromRow) };
  }

  /** Names of the groups that use a location, at most `limit`. */
  async namesUsing(accountId: string, slugName: string, limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('check_group_locations')
      .innerJoin('check_groups', 'check_groups.id', 'check_group_locations.group_id')
      .select('check_groups.name')
      .where('check_group_locations.name', '=', slugName)
      .where('check_groups.account_id', '=', accountId)
      .orderBy('check_groups.created')
      .limit(limit)
      .execute();
    return rows.map((row) => row.name);
  }
}

function columns(write: CheckGroupWrite) {
  return {
    name: write.name,
    name_search: write.name.toLowerCase(),
    definition: JSON.stringify(write.definition),
  };
}

/** Parser for the definition of a group. */
export const groupDefinition = storedJson('check_groups.definition', CheckGroupInput) as (
  text: string,
) => Record<string, unknown>;

function fromRow(row: Selectable<CheckGroupRow>): CheckGroup {
  return {
    id: row.id,
    accountId: row.account_id,
    definition: groupDefinition(row.definition),
    created: row.created,
    updated: row.updated,
  };
}

import { escapeLike } from '@picket/platform/store/engine/dialect.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { DashboardOptions } from '@picket/protocol/pages/dashboard.ts';
import { sql } from 'kysely';

/** Something of an account that people look for by its name. */
export interface NamedThing {
  readonly kind: 'check' | 'group' | 'location' | 'status page' | 'dashboard';
  readonly id: string;
  readonly name: string;
  /** Type of a check, slug of a location, URL of a page; empty for others. */
  readonly note: string;
}

/** An account has few of these: their names are compared here, as databases disagree on lower case. */
const mostNames = 2_000;

const storedOptions = storedJson('dashboards.definition', DashboardOptions);

/** Finds the things of an account by name. */
export class Names extends Repository {
  /**
   * Checks whose name or URL contains every word, those whose name begins with the first word first.
   *
   * @param words in lower case.
   */
  async checks(accountId: string, words: readonly string[], limit: number): Promise<NamedThing[]> {
    let query = this.db.selectFrom('checks').where('account_id', '=', accountId);
    for (const word of words) {
      const pattern = `%${escapeLike(word)}%`;
      query = query.where(
        sql<boolean>`(checks.name_search like ${pattern} escape '\\' or checks.url_search like ${pattern} escape '\\')`,
      );
    }
    const start = `${escapeLike(words[0] ?? '')}%`;
    const rows = await query
      .select(['id', 'name', 'check_type'])
      .orderBy(sql`case when checks.name_search like ${start} escape '\\' then 0 else 1 end`)
      .orderBy('name_search')
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(({ id, name, check_type: note }) => ({ kind: 'check', id, name, note }));
  }

  /** Groups, locations, status pages and dashboards whose name or URL contains every word. */
  async others(accountId: string, words: readonly string[]): Promise<NamedThing[]> {
    const [groups, locations, statusPages, dashboards] = [
      await this.db
        .selectFrom('check_groups')
        .select(['id', 'name'])
        .where('account_id', '=', accountId)
        .orderBy('name_search')
        .limit(mostNames)
        .execute(),
      await this.db
        .selectFrom('private_locations')
        .select(['id', 'name', 'slug_name'])
        .where('account_id', '=', accountId)
        .orderBy('name')
        .limit(mostNames)
        .execute(),
      await this.db
        .selectFrom('status_pages')
        .select(['id', 'name', 'url'])
        .where('account_id', '=', accountId)
        .orderBy('name')
        .limit(mostNames)
        .execute(),
      await this.db
        .selectFrom('dashboards')
        .select(['dashboard_id', 'custom_url', 'definition'])
        .where('account_id', '=', accountId)
        .orderBy('custom_url')
        .limit(mostNames)
        .execute(),
    ];
    const all: NamedThing[] = [
      ...groups.map(({ id, name }) => ({ kind: 'group' as const, id: String(id), name, note: '' })),
      ...locations.map((row) => ({ kind: 'location' as const, ...row, note: row.slug_name })),
      ...statusPages.map((row) => ({ kind: 'status page' as const, ...row, note: row.url })),
      ...dashboards.map(({ dashboard_id: id, custom_url: note, definition }) => ({
        kind: 'dashboard' as const,
        id,
        name: storedOptions(definition).header || note,
        note,
      })),
    ];
    return all.flatMap(({ kind, id, name, note }) => {
      const text = `${name} ${note}`.toLowerCase();
      return words.every((word) => text.includes(word)) ? [{ kind, id, name, note }] : [];
    });
  }
}

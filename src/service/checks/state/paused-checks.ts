import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import type { WindowDefinition } from '@picket/protocol/pages/maintenance-window.ts';
import { type RawBuilder, sql } from 'kysely';

/** A maintenance window that is in effect. */
export interface WindowInEffect {
  readonly accountId: string;
  readonly definition: Pick<WindowDefinition, 'pauseAllChecks' | 'tags'>;
}

/** Checks that do not run although they are activated, as a condition on `checks`. */
export class PausedChecks {
  readonly #windows: readonly WindowInEffect[];
  readonly #groupIsOff: RawBuilder<boolean>;

  constructor(windows: readonly WindowInEffect[], { name }: Pick<Dialect, 'name'>) {
    this.#groupIsOff = groupIsOff(name === 'sqlite');
    this.#windows = windows.filter(
      ({ definition: { pauseAllChecks, tags } }) => pauseAllChecks || tags.length > 0,
    );
  }

  /** True for checks whose group is deactivated, and for those that a window pauses. */
  get condition(): RawBuilder<boolean> {
    return sql`(${sql.join([this.#groupIsOff, ...this.#windows.map(isPausedBy)], sql` or `)})`;
  }
}

function groupIsOff(isSqlite: boolean): RawBuilder<boolean> {
  const stored = sql.ref('paused_group.definition');
  // On SQLite a single malformed row would fail the whole query; PostgreSQL does not store malformed JSON.
  const definition = isSqlite ? sql`case when json_valid(${stored}) then ${stored} end` : stored;
  // SQLite reads `false` as 0, PostgreSQL as text.
  return sql`(checks.group_id is not null and exists (select 1 from check_groups as paused_group
    where paused_group.id = checks.group_id
      and cast((${definition}) ->> 'activated' as text) in ('0', 'false')))`;
}

function isPausedBy({ accountId, definition }: WindowInEffect): RawBuilder<boolean> {
  const ofAccount = sql<boolean>`checks.account_id = ${accountId}`;
  if (definition.pauseAllChecks) return sql`(${ofAccount})`;
  const tags = sql.join(definition.tags.map((tag) => sql`${tag}`));
  return sql`(${ofAccount} and (checks.id in (select check_id from check_tags where tag in (${tags}))
    or checks.group_id in (select group_id from check_group_tags where tag in (${tags}))))`;
}

import type { Change, ColumnTypes } from '@picket/platform/store/engine/dialect.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import type { LocationStatusRow, StatusRow } from './tables.ts';

/** Change of a check's state by a final result. */
export interface StatusChange {
  readonly checkId: string;
  readonly accountId: string;
  readonly hasFailures: boolean;
  readonly hasErrors: boolean;
  readonly isDegraded: boolean;
  /** Response time, or null if the target gave no response to time. */
  readonly measuredMs: number | null;
  /** When the certificate of the target expires; null if the run saw none. */
  readonly certificateExpiresAt: number | null;
  /** Target of the run; null if unknown. */
  readonly targetHost: string | null;
  readonly targetAddress: string | null;
  readonly location: string;
  /** Location of the slot; a retry may run elsewhere. */
  readonly slotLocation: string;
  readonly checkRunId: number;
  readonly slotAt: number;
}

/** Checks whose results affect more than their status. */
export interface FollowedChecks {
  /** They run in all of their locations at once. */
  readonly parallel: ReadonlySet<string>;
  /** They have an alert state. */
  readonly alerted: ReadonlySet<string>;
  /** They have a gap: slots that were not measured. */
  readonly unmeasured: ReadonlySet<string>;
}

/** Current state of every check that has run. */
export class Statuses extends Repository {
  /**
   * Applies final results, within a transaction. The newest slot decides; a late report of an older slot only updates
   * the longest and shortest run. A check that runs in several locations at once fails as long as the newest result of
   * any location is a failure: the latest result of each location is stored, and their flags are combined.
   *
   * @param parallel those of the checks that run in parallel.
   * @param stored the statements that store the results and end their runs: executed together with it.
   */
  async apply(
    changes: readonly StatusChange[],
    parallel: ReadonlySet<string>,
    now: number,
    stored: readonly Change[],
  ): Promise<void> {
    const byLocation = changes.filter(({ checkId }) => parallel.has(checkId));
    for (const round of roundsOf(byLocation, ({ checkId, slotLocation }) => `${checkId} ${slotLocation}`)) {
      for (const portion of this.dialect.portions(round)) await this.#upsertLocations(portion, now);
    }
    const [first = [], ...others] = roundsOf(changes, ({ checkId }) => checkId);
    await this.dialect.together(this.db, [...stored, ...this.#upserting(first, now)]);
    for (const round of others) await this.dialect.together(this.db, this.#upserting(round, now));
    // With the statuses locked, all writes of other transactions for these locations are visible.
    await this.#addUp([...new Set(byLocation.map(({ checkId }) => checkId))].sort());
  }

  async #upsertLocations(changes: readonly StatusChange[], now: number): Promise<void> {
    const kept = (column: string) => newer<0 | 1>('location_statuses', column, 'slot_at', now);
    await this.db
      .insertInto('location_statuses')
      .values(
        changes.map((change) => ({
          check_id: change.checkId,
          slot_location: change.slotLocation,
          slot_at: change.slotAt,
          has_failures: flag(change.hasFailures),
          has_errors: flag(change.hasErrors),
          is_degraded: flag(change.isDegraded),
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['check_id', 'slot_location']).doUpdateSet({
          has_failures: kept('has_failures'),
          has_errors: kept('has_errors'),
          is_degraded: kept('is_degraded'),
          slot_at: newer<number>('location_statuses', 'slot_at', 'slot_at', now),
        }),
      )
      .execute();
  }

  /** Sets the flags of checks to the combined latest results of their current locations. */
  async #addUp(checkIds: readonly string[]): Promise<void> {
    if (checkIds.length === 0) return;
    const worst = (column: string) => sql<0 | 1>`coalesce(
      (select max(${sql.ref(`location_statuses.${column}`)}) from location_statuses
        join check_locations on check_locations.check_id = location_statuses.check_id
          and check_locations.name = location_statuses.slot_location
        where location_statuses.check_id = statuses.check_id),
      ${sql.ref(`statuses.${column}`)})`;
    await this.db
      .updateTable('statuses')
      .set({
        has_failures: worst('has_failures'),
        has_errors: worst('has_errors'),
        is_degraded: worst('is_degraded'),
      })
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
  }

  /** Deletes the location statuses of a check, except for the locations to keep. */
  async forgetLocations(checkId: string, keep: readonly string[]): Promise<void> {
    await this.db
      .deleteFrom('location_statuses')
      .where('check_id', '=', checkId)
      .where((eb) => eb.not(this.dialect.inList('slot_location', keep)))
      .execute();
  }

  #upserting(changes: readonly StatusChange[], now: number): Change[] {
    const kept = <Value>(column: string) => newer<Value>('statuses', column, 'last_slot_at', now);
    const rows = changes.map(
      (change): StatusRow => ({
        check_id: change.checkId,
        account_id: change.accountId,
        has_failures: flag(change.hasFailures),
        has_errors: flag(change.hasErrors),
        is_degraded: flag(change.isDegraded),
        longest_run: change.measuredMs,
        shortest_run: change.measuredMs,
        last_run_location: change.location,
        last_check_run_id: change.checkRunId,
        last_slot_at: change.slotAt,
        certificate_expires: change.certificateExpiresAt,
        created: now,
        updated: null,
        target_host: change.targetHost,
        target_address: change.targetAddress,
      }),
    );
    const insertion = { db: this.db, table: 'statuses', types: statusColumnTypes, rows } as const;
    return this.dialect.inserting(insertion, (insert) =>
      insert.onConflict((conflict) =>
        conflict.column('check_id').doUpdateSet({
          has_failures: kept<0 | 1>('has_failures'),
          has_errors: kept<0 | 1>('has_errors'),
          is_degraded: kept<0 | 1>('is_degraded'),
          longest_run: extreme('longest_run', '>'),
          shortest_run: extreme('shortest_run', '<'),
          last_run_location: kept<string>('last_run_location'),
          last_check_run_id: kept<number>('last_check_run_id'),
          last_slot_at: kept<number>('last_slot_at'),
          certificate_expires: keptCertificate(now),
          updated: now,
          target_host: keptTarget('target_host', now),
          target_address: keptTarget('target_address', now),
        }),
      ),
    );
  }

  /**
   * Newest slot in the status of each of the given checks. Locks the statuses in a fixed order: other transactions that
   * write to these checks wait for this one.
   */
  async lockLastSlots(checkIds: readonly string[]): Promise<Map<string, number>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('statuses')
      .select(['check_id', 'last_slot_at'])
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .orderBy('check_id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.check_id, row.last_slot_at]));
  }

  /** Those of the given checks that fail, by their newest results. */
  async failingAmong(checkIds: readonly string[]): Promise<Set<string>> {
    if (checkIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('statuses')
      .select('check_id')
      .where(this.dialect.inList('check_id', checkIds))
      .where('has_failures', '=', 1)
      .execute();
    return new Set(rows.map(({ check_id: id }) => id));
  }

  /** Other state that results of the given checks may affect. Mostly none, so one query covers all of it. */
  async followed(checkIds: readonly string[]): Promise<FollowedChecks> {
    const followed = {
      parallel: new Set<string>(),
      alerted: new Set<string>(),
      unmeasured: new Set<string>(),
    };
    if (checkIds.length === 0) return followed;
    const ids = [...new Set(checkIds)];
    const rows = await this.db
      .selectFrom('checks')
      .select(['id', sql.lit<keyof FollowedChecks>('parallel').as('kind')])
      .where(this.dialect.inList('id', ids))
      .where('run_parallel', '=', 1)
      .unionAll((eb) =>
        eb
          .selectFrom('alert_states')
          .select(['check_id as id', sql.lit<keyof FollowedChecks>('alerted').as('kind')])
          .where(this.dialect.inList('check_id', ids)),
      )
      .unionAll((eb) =>
        eb
          .selectFrom('monitoring_gaps')
          .select(['check_id as id', sql.lit<keyof FollowedChecks>('unmeasured').as('kind')])
          .where(this.dialect.inList('check_id', ids)),
      )
      .execute();
    for (const { id, kind } of rows) followed[kind].add(id);
    return followed;
  }

  /** Latest status per location of the given checks. */
  async ofLocations(checkIds: readonly string[]): Promise<LocationStatusRow[]> {
    if (checkIds.length === 0) return [];
    return this.db
      .selectFrom('location_statuses')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .execute();
  }

  async find(accountId: string, checkId: string): Promise<StatusRow | undefined> {
    return this.db
      .selectFrom('statuses')
      .selectAll()
      .where('check_id', '=', checkId)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
  }

  /** Statuses of an account with the names of their checks. */
  async list(accountId: string): Promise<(StatusRow & { name: string })[]> {
    return this.db
      .selectFrom('statuses')
      .innerJoin('checks', 'checks.id', 'statuses.check_id')
      .selectAll('statuses')
      .select('checks.name')
      .where('statuses.account_id', '=', accountId)
      .orderBy('checks.created', 'desc')
      .orderBy('checks.id', 'desc')
      .execute();
  }

  /** When a status of an account last changed; 0 before there is one. */
  async lastChange(accountId: string): Promise<number> {
    const row = await this.db
      .selectFrom('statuses')
      .select((eb) => [eb.fn.max('updated').as('updated'), eb.fn.max('created').as('created')])
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return Math.max(Number(row?.updated ?? 0), Number(row?.created ?? 0));
  }

  /** When the statuses of the given checks last changed, by check; omits those of other accounts. */
  async changesOf(accountId: string, checkIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.db
      .selectFrom('statuses')
      .select(['check_id', 'account_id', 'updated', 'created'])
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
    // The account is filtered here: otherwise SQLite would read all of its statuses.
    return new Map(
      rows.flatMap(({ check_id: id, account_id: of, updated, created }) =>
        of === accountId ? [[id, updated ?? created]] : [],
      ),
    );
  }

  async delete(checkId: string): Promise<void> {
    await this.forgetLocations(checkId, []);
    await this.db.deleteFrom('statuses').where('check_id', '=', checkId).execute();
  }
}

/**
 * Splits changes into rounds with at most one change per row, because a statement cannot change a row twice. Each round
 * is ordered by row key, so that two transactions cannot deadlock.
 */
function roundsOf(
  changes: readonly StatusChange[],
  keyOf: (change: StatusChange) => string,
): StatusChange[][] {
  const rounds: StatusChange[][] = [];
  const seen = new Map<string, number>();
  for (const change of changes) {
    const index = seen.get(keyOf(change)) ?? 0;
    seen.set(keyOf(change), index + 1);
    const round = rounds[index] ?? [];
    round.push(change);
    rounds[index] = round;
  }
  for (const round of rounds) round.sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  return rounds;
}

const flag = (value: boolean) => (value ? (1 as const) : (0 as const));

/**
 * Takes the new value if its slot is at least as new as the stored one. A stored slot in the future results from a
 * clock that was ahead, and counts as older than any other.
 */
function newer<Value>(
  table: string,
  column: string,
  slotColumn: string,
  now: number,
  offered: RawBuilder<unknown> = sql.ref(`excluded.${column}`),
) {
  const storedSlot = sql.ref(`${table}.${slotColumn}`);
  const offeredSlot = sql.ref(`excluded.${slotColumn}`);
  const stored = sql.ref(`${table}.${column}`);
  return sql<Value>`case when ${offeredSlot} >= ${storedSlot} or ${storedSlot} > ${now}
    then ${offered} else ${stored} end`;
}

/**
 * Known expiry of the certificate. A run that failed before it saw one says nothing about it; one that passed without a
 * certificate shows that there no longer is one.
 */
function keptCertificate(now: number) {
  const known = sql<number | null>`case
    when excluded.certificate_expires is null and (excluded.has_failures = 1 or excluded.has_errors = 1)
    then statuses.certificate_expires else excluded.certificate_expires end`;
  return newer<number | null>('statuses', 'certificate_expires', 'last_slot_at', now, known);
}

/** Latest known target of the check. */
function keptTarget(column: 'target_host' | 'target_address', now: number) {
  const known = sql<
    string | null
  >`coalesce(${sql.ref(`excluded.${column}`)}, ${sql.ref(`statuses.${column}`)})`;
  return newer<string | null>('statuses', column, 'last_slot_at', now, known);
}

function extreme(column: string, comparison: '>' | '<') {
  const stored = sql.ref(`statuses.${column}`);
  const offered = sql.ref(`excluded.${column}`);
  const better = comparison === '>' ? sql`${offered} > ${stored}` : sql`${offered} < ${stored}`;
  return sql<number | null>`case when ${stored} is null or ${better} then ${offered} else ${stored} end`;
}

/** Columns of the table and their PostgreSQL types, for inserts of many rows at a time. */
export const statusColumnTypes: ColumnTypes<StatusRow> = {
  check_id: 'text',
  account_id: 'text',
  has_failures: 'integer',
  has_errors: 'integer',
  is_degraded: 'integer',
  longest_run: 'double precision',
  shortest_run: 'double precision',
  last_run_location: 'text',
  last_check_run_id: 'bigint',
  last_slot_at: 'bigint',
  certificate_expires: 'bigint',
  created: 'bigint',
  updated: 'bigint',
  target_host: 'text',
  target_address: 'text',
};

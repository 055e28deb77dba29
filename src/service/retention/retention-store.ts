import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { Dialect } from '@picket/platform/store/engine/dialect.ts';
import { atAddresses, type Removal, removals } from '@picket/platform/store/engine/removal.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { ArtifactRow } from '../results/tables.ts';

/** Checks with the instant before which their results are due. */
type DueResults = readonly (readonly [checkId: string, before: number])[];

const trustedMark = 'retention';
const doubtMark = 'retention-doubt';

/**
 * Deletes old data in batches: each call is one short statement, so that claims and results never wait for long. None
 * of it is in progress: results are final or attempts of runs that ended long ago, and runs are terminal.
 */
export class Retired extends Repository {
  /** Maximum number of rows that one call deletes. */
  get rowsPerRemoval(): number {
    return this.dialect.rowsPerRemoval;
  }

  /** Releases space of deleted rows, a little at a time; returns whether there may be more. */
  async giveBackSpace(): Promise<boolean> {
    return this.dialect.giveBackSpace(this.db);
  }

  /**
   * Latest instant that is known to have passed: that of the last retention turn, or, before the first one, the end of
   * the newest run. Null in a database with neither.
   */
  async trustedUntil(): Promise<number | null> {
    const mark = await this.db
      .selectFrom('clock_marks')
      .select('at')
      .where('name', '=', trustedMark)
      .executeTakeFirst();
    if (mark) return mark.at;
    const run = await this.db
      .selectFrom('runs')
      .select((eb) => eb.fn.max('ended').as('at'))
      .where('ended', 'is not', null)
      .executeTakeFirst();
    return run?.at ?? null;
  }

  /** How long a clock that is ahead of it has been doubted. */
  async doubtedMs(): Promise<number> {
    const mark = await this.db
      .selectFrom('clock_marks')
      .select('at')
      .where('name', '=', doubtMark)
      .executeTakeFirst();
    return mark?.at ?? 0;
  }

  async setTrustedUntil(at: number, doubtedMs: number): Promise<void> {
    for (const mark of [
      { name: trustedMark, at },
      { name: doubtMark, at: Math.round(doubtedMs) },
    ]) {
      await this.db
        .insertInto('clock_marks')
        .values(mark)
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ at: mark.at }))
        .execute();
    }
  }

  /** Deletion parameters for this engine. */
  get removal(): Removal {
    return removals[this.dialect.name];
  }

  /** Up to `limit` due results, with the same selection as `removeDue`. */
  async dueResults(due: DueResults, limit: number, table = 'results'): Promise<string[]> {
    const rows = await sql<{ id: string }>`
      select results.id ${dueOf(this.dialect, due, table)} limit ${limit}`.execute(this.db);
    return rows.rows.map((row) => row.id);
  }

  /**
   * Deletes up to `limit` results of the given checks, each from before its own instant, oldest first. Only for checks
   * without artifacts, which it does not delete. Returns the number deleted.
   *
   * @param table if results are partitioned, one partition, because row addresses are only unique within one.
   */
  async removeDue(due: DueResults, limit: number, table = 'results'): Promise<number> {
    const rows = atAddresses(
      this.dialect,
      (address) => sql`select results.${address} ${dueOf(this.dialect, due, table)} limit ${limit}`,
    );
    const done = await sql`delete from ${sql.table(table)} where ${rows}`.execute(this.db);
    return Number(done.numAffectedRows);
  }

  /** The given checks that have artifacts. */
  async withArtifacts(checkIds: readonly string[]): Promise<Set<string>> {
    if (checkIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('checks')
      .select('id')
      .where(this.dialect.inList('id', checkIds))
      .where((eb) =>
        eb.exists(
          eb.selectFrom('artifacts').select('position').whereRef('artifacts.check_id', '=', 'checks.id'),
        ),
      )
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Deletes up to `limit` runs that ended before an instant, earliest first; returns the number deleted.
   *
   * @param table if runs are partitioned, one partition, because row addresses are only unique within one.
   */
  async removeRuns(before: number, limit: number, table = 'runs'): Promise<number> {
    const rows = atAddresses(
      this.dialect,
      (address) => sql`select ${address} from ${sql.table(table)}
        where ended is not null and ended < ${before} order by ended limit ${limit}`,
    );
    const done = await sql`delete from ${sql.table(table)} where ${rows}`.execute(this.db);
    return Number(done.numAffectedRows);
  }

  /**
   * Deletes results and the rows of their artifacts. The bytes must be deleted before, because the rows refer to them.
   *
   * @param table `results`, one of its partitions, or `test_results`.
   */
  async removeResults(table: string, ids: readonly string[]): Promise<void> {
    await this.db.deleteFrom('artifacts').where(this.dialect.inList('result_id', ids)).execute();
    await sql`delete from ${sql.table(table)} where ${this.dialect.inList('id', ids)}`.execute(this.db);
  }

  /** Stored artifacts that were announced before an instant. */
  async artifacts(before: number, limit: number): Promise<ArtifactRow[]> {
    return this.db
      .selectFrom('artifacts')
      .selectAll()
      .where('state', '=', sql.lit('stored' as const))
      .where('created', '<', before)
      .orderBy('created')
      .limit(limit)
      .execute();
  }

  /** Marks an artifact whose bytes were deleted. */
  async forgetArtifact(row: ArtifactRow, reason: string): Promise<void> {
    await this.db
      .updateTable('artifacts')
      .set({ state: 'lost', reason })
      .where('result_id', '=', row.result_id)
      .where('position', '=', row.position)
      .execute();
  }

  /**
   * Deletes up to `limit` each of: fenced results, check sessions, alerts with their notifications, error groups that
   * were not seen since, maintenance notices, expired silences, and actions on alerts, all from before an instant.
   * Certificate alerts are kept, because they prevent duplicate notifications of a certificate. Permanently archived
   * groups are kept, too: without them their errors would come back as new ones.
   *
   * @returns whether there may be more.
   */
  async removeRecords(before: number, limit: number): Promise<boolean> {
    const stale = this.db
      .selectFrom('stale_results')
      .select('id')
      .where('received', '<', before)
      .orderBy('received')
      .limit(limit);
    const removedStale = await this.db
      .deleteFrom('stale_results')
      .where('id', 'in', stale)
      .executeTakeFirst();
    const sessions = this.db
      .selectFrom('check_sessions')
      .select('id')
      .where('started', '<', before)
      .orderBy('started')
      .limit(limit);
    const removedSessions = await this.db
      .deleteFrom('check_sessions')
      .where('id', 'in', sessions)
      .executeTakeFirst();
    const removedAlerts = await this.#removeAlerts(before, limit);
    const groups = this.db
      .selectFrom('error_groups')
      .select('id')
      .where('last_seen', '<', before)
      .where('is_archived_for_ever', '=', sql.lit(0 as const))
      .orderBy('last_seen')
      .limit(limit);
    const removedGroups = await this.db
      .deleteFrom('error_groups')
      .where('id', 'in', groups)
      // Kept if seen again meanwhile.
      .where('last_seen', '<', before)
      .executeTakeFirst();
    await this.db.deleteFrom('alert_causes').where('closed', '<', before).execute();
    await this.db.deleteFrom('maintenance_notices').where('created', '<', before).execute();
    await this.db.deleteFrom('former_channels').where('created', '<', before).execute();
    await this.db.deleteFrom('silences').where('ends', '<', before).execute();
    await this.db.deleteFrom('alert_actions').where('created', '<', before).execute();
    const counts = [removedStale, removedSessions, removedGroups].map(({ numDeletedRows }) =>
      Number(numDeletedRows),
    );
    return greatestOf([...counts, removedAlerts]) === limit;
  }

  async #removeAlerts(before: number, limit: number): Promise<number> {
    const alerts = await this.db
      .selectFrom('alerts')
      .select('id')
      .where('created', '<', before)
      .where('alert_type', '!=', sql.lit('ALERT_SSL'))
      .orderBy('created')
      .limit(limit)
      .execute();
    const ids = alerts.map(({ id }) => id);
    if (ids.length === 0) return 0;
    // Notifications first: once their alert is deleted, the deletion would no longer find them.
    await this.db.deleteFrom('alert_notifications').where(this.dialect.inList('alert_id', ids)).execute();
    await this.db.deleteFrom('alerts').where(this.dialect.inList('id', ids)).execute();
    return ids.length;
  }

  /** Ids of up to `limit` results of test sessions that started before an instant, and of the sessions without any. */
  async testSessions(
    before: number,
    limit: number,
  ): Promise<{ readonly resultIds: string[]; readonly emptyIds: string[] }> {
    const sessions = await this.db
      .selectFrom('test_sessions')
      .select('id')
      .where('started', '<', before)
      .orderBy('started')
      .limit(limit)
      .execute();
    const sessionIds = sessions.map(({ id }) => id);
    if (sessionIds.length === 0) return { resultIds: [], emptyIds: [] };
    const results = await this.db
      .selectFrom('test_results')
      .select(['id', 'test_session_id'])
      .where(this.dialect.inList('test_session_id', sessionIds))
      .limit(limit)
      .execute();
    const full = new Set(results.map((row) => row.test_session_id));
    const emptyIds = results.length === limit ? [] : sessionIds.filter((id) => !full.has(id));
    return { resultIds: results.map(({ id }) => id), emptyIds };
  }

  /** Deletes test sessions whose results are gone. */
  async removeTestSessions(ids: readonly string[]): Promise<void> {
    await this.db.deleteFrom('test_sessions').where(this.dialect.inList('id', ids)).execute();
  }

  /** Deletes up to `limit` heartbeat events from before an instant; returns the number deleted. */
  async removeHeartbeatEvents(checkIds: readonly string[], before: number, limit: number): Promise<number> {
    const some = this.db
      .selectFrom('heartbeat_events')
      .select('id')
      .where(this.dialect.inList('check_id', checkIds))
      .where('created', '<', before)
      .limit(limit);
    const done = await this.db.deleteFrom('heartbeat_events').where('id', 'in', some).executeTakeFirst();
    return Number(done.numDeletedRows);
  }

  /** Ids of all checks after one, in order. */
  async checkIdsAfter(id: string, limit: number): Promise<string[]> {
    const rows = await this.db
      .selectFrom('checks')
      .select('id')
      .where('id', '>', id)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }
}

function dueOf(dialect: Dialect, due: DueResults, table: string) {
  const latest = greatestOf(due.map(([, before]) => before));
  // The latest instant is a separate condition, because PostgreSQL has no statistics on those in pairs.
  return sql`from ${dialect.pairRows(['check_id', 'before'], due)} as due cross join ${sql.table(table)} as results
    where results.check_id = due.check_id and results.created < due.before and results.created < ${latest}`;
}

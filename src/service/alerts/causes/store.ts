import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Check } from '../../checks/store.ts';
import { presentMembers } from './channel-notices.ts';
import type { FailingCheck } from './failing-check.ts';
import type { OpenCause } from './open-cause.ts';
import { type StoredCauseEvent, storedCause } from './stored-cause.ts';
import type { AlertCauseEventRow } from './tables.ts';

/** An evaluation scheduled further ahead than this was set by a clock that was ahead. */
const longestLookMs = 30 * 60_000;

/** Properties of a failing check that other checks of its account may share and that queries use. */
type Shared = Pick<
  FailingCheck,
  'checkId' | 'host' | 'address' | 'symptom' | 'fromLocation' | 'failedAt' | 'egressRule'
>;

/** Causes of failures, and pending news of checks to be grouped. */
export class AlertCauses extends Repository {
  async addNews(row: Omit<AlertCauseEventRow, 'position'>): Promise<void> {
    await this.db.insertInto('alert_cause_news').values(row).execute();
  }

  /**
   * Notifies the cause of a check that the check is deleted or deactivated. If it is activated again before the cause
   * is next examined, its next failure is a new one.
   */
  async leave({ id, accountId }: Pick<Check, 'id' | 'accountId'>, now: number): Promise<void> {
    const followedAt = await this.followedAt(id);
    if (followedAt === null) return;
    const news: StoredCauseEvent = { kind: 'gone', checkId: id };
    await this.addNews({
      account_id: accountId,
      check_id: id,
      content: JSON.stringify(news),
      created: now,
      due: Math.max(now, followedAt),
    });
  }

  /**
   * When further news of a check is due: at once (0) for a member of an open cause, not before pending news for a check
   * that has some; null for any other check.
   */
  async followedAt(checkId: string): Promise<number | null> {
    const member = await this.db
      .selectFrom('alert_cause_members')
      .select('cause_id')
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    if (member) return 0;
    const news = await this.db
      .selectFrom('alert_cause_news')
      .select((eb) => eb.fn.max('due').as('due'))
      .where('check_id', '=', checkId)
      .executeTakeFirst();
    return news?.due ?? null;
  }

  /** Whether another check of the account may fail for the same cause as this one. */
  async hasCompany(accountId: string, fact: Shared): Promise<boolean> {
    const related = await this.db
      .selectFrom('check_parents')
      .select('check_id')
      .where((eb) => eb.or([eb('check_id', '=', fact.checkId), eb('parent_id', '=', fact.checkId)]))
      .executeTakeFirst();
    if (related) return true;
    const { host, address, symptom, fromLocation, failedAt, egressRule, checkId } = fact;
    const isOfLocation = fromLocation !== null || egressRule !== null;
    const found = await this.db
      .selectFrom('statuses')
      .innerJoin('checks', 'checks.id', 'statuses.check_id')
      .select('statuses.check_id')
      .where('statuses.account_id', '=', accountId)
      .where('statuses.check_id', '!=', checkId)
      .where('checks.activated', '=', 1)
      .where((eb) =>
        eb.or([
          ...(host === null ? [] : [eb('statuses.target_host', '=', host)]),
          ...(address === null ? [] : [eb('statuses.target_address', '=', address)]),
          ...(isOfLocation ? failedAt.map((name) => eb('statuses.last_run_location', '=', name)) : []),
          ...(symptom === 'certificate'
            ? [
                eb(
                  'statuses.certificate_expires',
                  '=',
                  eb
                    .selectFrom('statuses as own')
                    .select('own.certificate_expires')
                    .where('own.check_id', '=', checkId),
                ),
              ]
            : []),
        ]),
      )
      .limit(1)
      .executeTakeFirst();
    return found !== undefined;
  }

  /** When the next work is due, or null. */
  async nextDueAt(): Promise<number | null> {
    const news = await this.db
      .selectFrom('alert_cause_news')
      .select((eb) => eb.fn.min('due').as('at'))
      .executeTakeFirst();
    const causes = await this.db
      .selectFrom('alert_causes')
      .select((eb) => eb.fn.min('next_at').as('at'))
      .where('next_at', 'is not', null)
      .executeTakeFirst();
    const times = [news?.at ?? null, causes?.at ?? null].filter((at) => at !== null);
    return times.length === 0 ? null : leastOf(times);
  }

  /** Accounts with due work, or with news dated by a clock that was ahead. */
  async dueAccounts(now: number): Promise<string[]> {
    const news = await this.db
      .selectFrom('alert_cause_news')
      .select('account_id')
      .distinct()
      .where((eb) => eb.or([eb('due', '<=', now), eb('created', '>', now)]))
      .execute();
    const causes = await this.db
      .selectFrom('alert_causes')
      .select('account_id')
      .distinct()
      .where((eb) => eb.or([eb('next_at', '<=', now), eb('next_at', '>', now + longestLookMs)]))
      .execute();
    return [...new Set([...news, ...causes].map((row) => row.account_id))].sort();
  }

  /** Pending news of an account, in order of arrival. */
  async news(accountId: string): Promise<AlertCauseEventRow[]> {
    return this.db
      .selectFrom('alert_cause_news')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('position')
      .execute();
  }

  async removeNews(positions: readonly number[]): Promise<void> {
    for (const batch of batches(positions.map((position) => ({ position })))) {
      await this.db
        .deleteFrom('alert_cause_news')
        .where(
          'position',
          'in',
          batch.map(({ position }) => position),
        )
        .execute();
    }
  }

  /** Open causes of the given accounts, oldest first. */
  async open(accountIds: readonly string[]): Promise<OpenCause[]> {
    const rows = await this.db
      .selectFrom('alert_causes')
      .select(['id', 'state'])
      .where(this.dialect.inList('account_id', accountIds))
      .where('closed', 'is', null)
      .orderBy('opened')
      .orderBy('id')
      .execute();
    return rows.map(storedCause);
  }

  /** The given checks that still have an alert state; the others are deleted or pass. */
  async withState(checkIds: readonly string[]): Promise<Set<string>> {
    if (checkIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('alert_states')
      .select('check_id')
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
    return new Set(rows.map((row) => row.check_id));
  }

  /** Stores a cause, and its members while it is open. */
  async save(accountId: string, cause: OpenCause, nextAt: number | null): Promise<void> {
    const { id, kind, opened, closed } = cause;
    const changed = { kind, state: JSON.stringify(cause), closed, next_at: nextAt };
    await this.db
      .insertInto('alert_causes')
      .values({ id, account_id: accountId, opened, ...changed })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(changed))
      .execute();
    await this.db.deleteFrom('alert_cause_members').where('cause_id', '=', id).execute();
    if (closed !== null) return;
    const members = presentMembers(cause).map(({ fact }) => ({ check_id: fact.checkId, cause_id: id }));
    for (const batch of batches(members)) {
      await this.db
        .insertInto('alert_cause_members')
        .values(batch)
        .onConflict((conflict) => conflict.column('check_id').doUpdateSet({ cause_id: id }))
        .execute();
    }
  }

  /** Schedules the next evaluation of open causes that did not change in this one. */
  async lookLater(accountId: string, now: number, nextAt: number): Promise<void> {
    await this.db
      .updateTable('alert_causes')
      .set({ next_at: nextAt })
      .where('account_id', '=', accountId)
      .where((eb) => eb.or([eb('next_at', '<=', now), eb('next_at', '>', now + longestLookMs)]))
      .execute();
  }

  /** Records the cause that the given alerts belong to. */
  async link(alertIds: readonly string[], causeId: string): Promise<void> {
    if (alertIds.length === 0) return;
    await this.db
      .updateTable('alerts')
      .set({ cause_id: causeId })
      .where(this.dialect.inList('id', alertIds))
      .execute();
  }

  async find(accountId: string, id: string): Promise<OpenCause | undefined> {
    const row = await this.db
      .selectFrom('alert_causes')
      .select(['id', 'state'])
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .executeTakeFirst();
    return row && storedCause(row);
  }

  async findMany(ids: readonly string[]): Promise<Map<string, OpenCause>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alert_causes')
      .select(['id', 'state'])
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(rows.map(storedCause).map((cause) => [cause.id, cause]));
  }

  /** A page of causes, newest first. */
  async list(
    { accountId, isOpen }: { readonly accountId: string; readonly isOpen?: boolean | undefined },
    page: Page,
  ): Promise<{ total: number; causes: OpenCause[] }> {
    let query = this.db.selectFrom('alert_causes').where('account_id', '=', accountId);
    if (isOpen !== undefined) query = query.where('closed', isOpen ? 'is' : 'is not', null);
    const ordered = query.selectAll().orderBy('opened', 'desc').orderBy('id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, causes: rows.map(storedCause) };
  }

  /** Parents of the given checks, by the id of the dependent check. */
  async parentsOf(checkIds: readonly string[]): Promise<Map<string, string[]>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('check_parents')
      .selectAll()
      .where(this.dialect.inList('check_id', checkIds))
      .orderBy('parent_id')
      .execute();
    const byCheck = Map.groupBy(rows, (row) => row.check_id);
    return new Map([...byCheck].map(([id, list]) => [id, list.map((row) => row.parent_id)]));
  }

  /** Replaces the parents of a check. */
  async setParents(checkId: string, parentIds: readonly string[]): Promise<void> {
    await this.db.deleteFrom('check_parents').where('check_id', '=', checkId).execute();
    const rows = parentIds.map((id) => ({ check_id: checkId, parent_id: id }));
    if (rows.length > 0) await this.db.insertInto('check_parents').values(rows).execute();
  }

  /** Names of the given checks, and the newest passing slot of each. */
  async parents(
    checkIds: readonly string[],
  ): Promise<Map<string, { readonly name: string; readonly passedAt: number | null }>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('checks')
      .leftJoin('statuses', 'statuses.check_id', 'checks.id')
      .select([
        'checks.id',
        'checks.name',
        'statuses.has_failures',
        'statuses.has_errors',
        'statuses.last_slot_at',
      ])
      .where(this.dialect.inList('checks.id', checkIds))
      .execute();
    return new Map(
      rows.map((row) => {
        const passes = row.has_failures === 0 && row.has_errors === 0;
        return [row.id, { name: row.name, passedAt: passes ? row.last_slot_at : null }];
      }),
    );
  }

  /** Kinds of events that agents report at the private locations of an account, by location slug. */
  async unhealthy(accountId: string, reportedSince: number): Promise<Map<string, Set<string>>> {
    const rows = await this.db
      .selectFrom('location_events')
      .innerJoin('private_locations', 'private_locations.id', 'location_events.location_id')
      .select(['private_locations.slug_name', 'location_events.kind'])
      .where('private_locations.account_id', '=', accountId)
      .where('location_events.ended', 'is', null)
      .where('location_events.told', '>=', reportedSince)
      .execute();
    const byLocation = Map.groupBy(rows, (row) => row.slug_name);
    return new Map([...byLocation].map(([name, list]) => [name, new Set(list.map(({ kind }) => kind))]));
  }

  /** Number of distinct targets that each of the given locations has reported on since an instant. */
  async targetsAt(
    accountId: string,
    locations: readonly string[],
    since: number,
  ): Promise<Map<string, number>> {
    if (locations.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('statuses')
      .select(['last_run_location'])
      .select((eb) => [
        eb.fn
          .count<number>(eb.fn.coalesce('target_address', 'target_host', 'check_id'))
          .distinct()
          .as('count'),
      ])
      .where('account_id', '=', accountId)
      .where(this.dialect.inList('last_run_location', locations))
      .where((eb) => eb.or([eb('updated', '>=', since), eb('created', '>=', since)]))
      .groupBy('last_run_location')
      .execute();
    return new Map(rows.map((row) => [row.last_run_location, Number(row.count)]));
  }

  /** Number of open causes with more than one member, and of their members, per account. */
  async openGroups(accountId?: string): Promise<{ account: string; causes: number; members: number }[]> {
    let query = this.db
      .selectFrom('alert_cause_members')
      .innerJoin('alert_causes', 'alert_causes.id', 'alert_cause_members.cause_id')
      .select(['alert_causes.account_id', 'alert_causes.id'])
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy(['alert_causes.account_id', 'alert_causes.id']);
    if (accountId !== undefined) query = query.where('alert_causes.account_id', '=', accountId);
    const shared = (await query.execute()).filter((row) => Number(row.count) > 1);
    return [...Map.groupBy(shared, (row) => row.account_id)].map(([account, rows]) => ({
      account,
      causes: rows.length,
      members: rows.reduce((sum, row) => sum + Number(row.count), 0),
    }));
  }
}

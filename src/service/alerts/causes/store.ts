import { leastOf } from '@picket/lib/bounds/extremes.ts';
import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { Check } from '../../checks/store.ts';
import { presentMembers } from './channel-notices.ts';
import type { FailingCheck } from './failing-check.ts';
import type { OpenCause } from './open-cause.ts';
import { type StoredCauseEvent, storedCause } from './stored-cause.ts';
import type { AlertCauseEventRow } from './tables.ts';

/** A look that is planned for later than this was planned by a clock that was ahead. */
const longestLookMs = 30 * 60_000;

/** What of a failing check others may share, as its account is asked for it. */
type Shared = Pick<
  FailingCheck,
  'checkId' | 'host' | 'address' | 'symptom' | 'fromLocation' | 'failedAt' | 'egressRule'
>;

/** Causes of failures, and the news of checks that wait to be grouped. */
export class AlertCauses extends Repository {
  async addNews(row: Omit<AlertCauseEventRow, 'position'>): Promise<void> {
    await this.db.insertInto('alert_cause_news').values(row).execute();
  }

  /**
   * Lets the cause of a check know that it is deleted or switched off. Where it is switched on again before the next
   * look at the cause, its next failure is another one.
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
   * When further news of a check are due, for one that is a member of an open cause (at once: 0) or has news
   * that wait (not before those); null for any other.
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

  /** Whether another check of the account may fail by what a check fails by. */
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

  /** When anything is due next, or null. */
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

  /** Accounts with anything that is due, or with news that a clock which was ahead has dated. */
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

  /** All news of an account that wait, in the order they came. */
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

  /** The open causes of some accounts, oldest first. */
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

  /** Of some checks those that still have an alert state: all others are gone, or pass. */
  async withState(checkIds: readonly string[]): Promise<Set<string>> {
    if (checkIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('alert_states')
      .select('check_id')
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
    return new Set(rows.map((row) => row.check_id));
  }

  /** Stores a cause, and which checks are its members while it is open. */
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

  /** Plans the next look at open causes that did not change at this one. */
  async lookLater(accountId: string, now: number, nextAt: number): Promise<void> {
    await this.db
      .updateTable('alert_causes')
      .set({ next_at: nextAt })
      .where('account_id', '=', accountId)
      .where((eb) => eb.or([eb('next_at', '<=', now), eb('next_at', '>', now + longestLookMs)]))
      .execute();
  }

  /** Notes which cause some alerts belong to. */
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

  /** The checks that some checks depend on, by the dependent one's id. */
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

  /** Makes a check depend on exactly these. */
  async setParents(checkId: string, parentIds: readonly string[]): Promise<void> {
    await this.db.deleteFrom('check_parents').where('check_id', '=', checkId).execute();
    const rows = parentIds.map((id) => ({ check_id: checkId, parent_id: id }));
    if (rows.length > 0) await this.db.insertInto('check_parents').values(rows).execute();
  }

  /** The names of some checks, and the newest slot of each that passes. */
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

  /**
   * The kinds of what agents find unhealthy at the private locations of an account, by the location's slug.
   */
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

  /** Of how many different targets anything was heard from each of some locations since an instant. */
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

  /** How many causes an account has open, with more than one member, and how many members those have. */
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

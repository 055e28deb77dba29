import { batches, type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import { sql } from 'kysely';
import { incidentsIn, type TriggeredIncident } from '../incidents/requested-incident.ts';
import type { AlertRow, AlertStateRow, HeldAlertRow } from './tables.ts';

const stateOf = storedValue<Parameters<typeof incidentsIn>[0]>('alert_states.state', {});

export interface AlertFilter {
  readonly accountId: string;
  readonly checkId?: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly from: number;
  /** Epoch milliseconds, exclusive. */
  readonly to: number;
  /** Whether alerts that no channel was notified of are listed, too. */
  readonly hasSuppressed?: boolean;
}

/** A check whose certificate expires, and when. */
export interface ExpiringCertificate {
  readonly checkId: string;
  readonly expiresAt: number;
}

/** Alerts that are not about a check. */
const ofNoCheck = [
  'ALERT_LOCATION_AWAY',
  'ALERT_LOCATION_BACK',
  'ALERT_LOCATION_SICK',
  'ALERT_LOCATION_WELL',
  'ALERT_LOCATION_OUTDATED',
  'ALERT_LOCATION_CURRENT',
  'ALERT_SLO_BURN',
  'ALERT_SLO_BURN_OVER',
  'ALERT_TEST',
] as const;

/** Alert states of checks and the alerts that were raised. */
export class Alerts extends Repository {
  /** Stored states of the given checks, locked in a fixed order; a passing check has none. */
  async lockStates(checkIds: readonly string[]): Promise<Map<string, AlertStateRow>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alert_states')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .orderBy('check_id')
      .modifyEnd(this.dialect.forUpdate)
      .execute();
    return new Map(rows.map((row) => [row.check_id, row]));
  }

  /** States that time alone may change now, soonest first; locked, skipping those locked by another process. */
  async dueStates(now: number, limit: number): Promise<AlertStateRow[]> {
    return this.db
      .selectFrom('alert_states')
      .selectAll()
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /** When time alone may next change a state, or null. */
  async nextDueAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('alert_states')
      .select((eb) => eb.fn.min('next_at').as('at'))
      .where('next_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  async saveState(row: AlertStateRow): Promise<void> {
    const { check_id: _key, ...changed } = row;
    await this.db
      .insertInto('alert_states')
      .values(row)
      .onConflict((conflict) => conflict.column('check_id').doUpdateSet(changed))
      .execute();
  }

  /** Stored states of an account, ordered by check id. */
  async statesOf(accountId: string): Promise<AlertStateRow[]> {
    return this.db
      .selectFrom('alert_states')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('check_id')
      .execute();
  }

  /** Stored states of the given checks. */
  async statesOfChecks(checkIds: readonly string[]): Promise<AlertStateRow[]> {
    if (checkIds.length === 0) return [];
    return this.db
      .selectFrom('alert_states')
      .selectAll()
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
  }

  /** When the certificates that the given checks last saw expire. */
  async certificatesOf(checkIds: readonly string[]): Promise<Map<string, number | null>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('statuses')
      .select(['check_id', 'certificate_expires'])
      .where(this.dialect.inList('check_id', checkIds))
      .execute();
    return new Map(rows.map((row) => [row.check_id, row.certificate_expires]));
  }

  /** Marks the state of a check for re-evaluation: what held back its notices may have changed. */
  async lookAgainAt(checkId: string, now: number): Promise<void> {
    await this.db.updateTable('alert_states').set({ next_at: now }).where('check_id', '=', checkId).execute();
  }

  /** Marks the states and held alerts of an account for re-evaluation: what held back their notices has changed. */
  async lookAgain(accountId: string, now: number): Promise<void> {
    await this.db
      .updateTable('alert_states')
      .set({ next_at: now })
      .where('account_id', '=', accountId)
      .execute();
    await this.db
      .updateTable('held_alerts')
      .set({ next_at: now })
      .where('account_id', '=', accountId)
      .execute();
  }

  /** @returns the incidents that the checks had requested and not recovered from. */
  async forgetStates(checkIds: readonly string[]): Promise<
    {
      readonly check: { readonly id: string; readonly accountId: string };
      readonly incidents: readonly TriggeredIncident[];
    }[]
  > {
    if (checkIds.length === 0) return [];
    const rows = await this.db
      .deleteFrom('alert_states')
      .where(this.dialect.inList('check_id', checkIds))
      .returning(['check_id', 'account_id', 'state'])
      .execute();
    return rows.map((row) => ({
      check: { id: row.check_id, accountId: row.account_id },
      incidents: incidentsIn(stateOf(row.state)),
    }));
  }

  /** Stores alerts, skipping those already stored. Returns the ids of those inserted. */
  async insert(rows: readonly AlertRow[]): Promise<Set<string>> {
    const inserted = new Set<string>();
    for (const batch of batches(rows)) {
      const done = await this.db
        .insertInto('alerts')
        .values(batch)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returning('id')
        .execute();
      for (const { id } of done) inserted.add(id);
    }
    return inserted;
  }

  /**
   * Holds back an alert that no channel knows of yet; if it is already held, replaces the time of its next evaluation.
   */
  async hold(row: HeldAlertRow): Promise<void> {
    await this.db
      .insertInto('held_alerts')
      .values(row)
      .onConflict((conflict) => conflict.column('alert_id').doUpdateSet({ next_at: row.next_at }))
      .execute();
  }

  /** Held alerts that are due for evaluation; locked. */
  async dueHeld(now: number, limit: number): Promise<HeldAlertRow[]> {
    return this.db
      .selectFrom('held_alerts')
      .selectAll()
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .execute();
  }

  /** When the next held alert is due for evaluation, or null. */
  async nextHeldAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('held_alerts')
      .select((eb) => eb.fn.min('next_at').as('at'))
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /** Stops holding an alert back; `isSent`: it may now be sent. */
  async release({ alert_id }: HeldAlertRow, isSent: boolean): Promise<void> {
    await this.db.deleteFrom('held_alerts').where('alert_id', '=', alert_id).execute();
    if (!isSent) return;
    await this.db.updateTable('alerts').set({ suppressed_by: null }).where('id', '=', alert_id).execute();
  }

  /** Drops held alerts of a type and a subject, so that they are never sent. */
  async dropHeld(subjectId: string, type: AlertRow['alert_type']): Promise<void> {
    await this.db
      .deleteFrom('held_alerts')
      .where('alert_id', 'in', (eb) =>
        eb.selectFrom('alerts').select('id').where('check_id', '=', subjectId).where('alert_type', '=', type),
      )
      .execute();
  }

  /** The given subjects that have a held alert of a type. */
  async heldAmong(subjectIds: readonly string[], type: AlertRow['alert_type']): Promise<Set<string>> {
    if (subjectIds.length === 0) return new Set();
    const rows = await this.db
      .selectFrom('held_alerts')
      .innerJoin('alerts', 'alerts.id', 'held_alerts.alert_id')
      .select('alerts.check_id')
      .where('alerts.alert_type', '=', type)
      .where(this.dialect.inList('alerts.check_id', [...new Set(subjectIds)]))
      .execute();
    return new Set(rows.map((row) => row.check_id));
  }

  /** Changes the content of an alert for channels that are not notified of it yet. */
  async setFacts(id: string, facts: string): Promise<void> {
    await this.db.updateTable('alerts').set({ facts }).where('id', '=', id).execute();
  }

  async findMany(ids: readonly string[]): Promise<Map<string, AlertRow>> {
    if (ids.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('alerts')
      .selectAll()
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** A page of alerts, newest first. */
  async list(filter: AlertFilter, page: Page): Promise<{ total: number; alerts: AlertRow[] }> {
    let query = this.db
      .selectFrom('alerts')
      .where('account_id', '=', filter.accountId)
      .where('created', '>=', filter.from)
      .where('created', '<', filter.to)
      .where('alert_type', 'not in', ofNoCheck);
    if (!filter.hasSuppressed) query = query.where('suppressed_by', 'is', null);
    if (filter.checkId !== undefined) query = query.where('check_id', '=', filter.checkId);
    const ordered = query.selectAll().orderBy('created', 'desc').orderBy('id', 'desc');
    const { total, rows: alerts } = await readPage(ordered, page);
    return { total, alerts };
  }

  /** Checks whose certificate expires by an instant, soonest first, after the given one. */
  async expiring(until: number, after: ExpiringCertificate, limit: number): Promise<ExpiringCertificate[]> {
    const rows = await this.db
      .selectFrom('statuses')
      .select(['check_id', 'certificate_expires'])
      .where('certificate_expires', 'is not', null)
      .where('certificate_expires', '<=', until)
      .where(sql<boolean>`(certificate_expires, check_id) > (${after.expiresAt}, ${after.checkId})`)
      .orderBy('certificate_expires')
      .orderBy('check_id')
      .limit(limit)
      .execute();
    return rows.flatMap((row) =>
      row.certificate_expires === null ? [] : [{ checkId: row.check_id, expiresAt: row.certificate_expires }],
    );
  }
}

import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { RuleFailureRow } from '../tables.ts';

/** Failures by automation rules that have not recovered. */
export class RuleFailures extends Repository {
  async insert(row: RuleFailureRow): Promise<void> {
    await this.db.insertInto('rule_failures').values(row).execute();
  }

  async find(triggerId: string): Promise<RuleFailureRow | undefined> {
    return this.db
      .selectFrom('rule_failures')
      .selectAll()
      .where('trigger_id', '=', triggerId)
      .executeTakeFirst();
  }

  async remove(triggerId: string): Promise<void> {
    await this.db.deleteFrom('rule_failures').where('trigger_id', '=', triggerId).execute();
  }

  /** Whether an incident still has a failure. */
  async hasOf(incidentId: string): Promise<boolean> {
    const row = await this.db
      .selectFrom('rule_failures')
      .select('trigger_id')
      .where('incident_id', '=', incidentId)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Failures that may open an incident now, locked; those waiting longest first. */
  async lockDue(now: number, limit: number): Promise<RuleFailureRow[]> {
    return this.db
      .selectFrom('rule_failures')
      .selectAll()
      .where('waits_until', '<=', now)
      .orderBy('waits_until')
      .orderBy('created')
      .orderBy('trigger_id')
      .limit(limit)
      .modifyEnd(this.dialect.forUpdate)
      .execute();
  }

  /** When the next failure may open an incident; null if none waits. */
  async nextAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('rule_failures')
      .select('waits_until')
      .where('waits_until', 'is not', null)
      .orderBy('waits_until')
      .limit(1)
      .executeTakeFirst();
    return row?.waits_until ?? null;
  }

  /** Number of failures that wait for a rule to cool down or a maintenance to end. */
  async countWaiting(accountId?: string): Promise<{ account: string; count: number }[]> {
    let query = this.db
      .selectFrom('rule_failures')
      .select((eb) => ['account_id as account', eb.fn.countAll<number>().as('count')])
      .where('waits_until', 'is not', null);
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await query.groupBy('account_id').execute();
    return rows.map(({ account, count }) => ({ account, count: Number(count) }));
  }
}

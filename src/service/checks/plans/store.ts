import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CheckPlanRow } from './tables.ts';

/** Older versions are dropped. */
const maxVersions = 50;
/** Another transaction may take the same version number in the meantime. */
const maxTries = 5;

/** Versioned plans that runs of checks left for later runs; runs are given the latest version. */
export class CheckPlans extends Repository {
  /** Stores a new version, unless it equals the latest. */
  async keep(plan: Omit<CheckPlanRow, 'version'>): Promise<void> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const last = (await this.latest([plan.check_id])).get(plan.check_id);
      if (last && last.content === plan.content) return;
      const version = (last?.version ?? 0) + 1;
      const { numInsertedOrUpdatedRows } = await this.db
        .insertInto('check_plans')
        .values({ ...plan, version })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (Number(numInsertedOrUpdatedRows ?? 0) === 0) continue;
      await this.db
        .deleteFrom('check_plans')
        .where('check_id', '=', plan.check_id)
        .where('version', '<=', version - maxVersions)
        .execute();
      return;
    }
  }

  /** Latest version for each of the given checks. */
  async latest(checkIds: readonly string[]): Promise<Map<string, CheckPlanRow>> {
    if (checkIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('check_plans')
      .selectAll()
      .where(this.dialect.inList('check_id', [...new Set(checkIds)]))
      .where((eb) =>
        eb(
          'version',
          '=',
          eb
            .selectFrom('check_plans as other')
            .select((inner) => inner.fn.max('other.version').as('version'))
            .whereRef('other.check_id', '=', 'check_plans.check_id'),
        ),
      )
      .execute();
    return new Map(rows.map((row) => [row.check_id, row]));
  }

  /** All versions of a check, newest first. */
  async ofCheck(checkId: string): Promise<CheckPlanRow[]> {
    return this.db
      .selectFrom('check_plans')
      .selectAll()
      .where('check_id', '=', checkId)
      .orderBy('version', 'desc')
      .execute();
  }

  /** Deletes all versions: the next run starts without a plan. */
  async drop(checkId: string): Promise<void> {
    await this.db.deleteFrom('check_plans').where('check_id', '=', checkId).execute();
  }
}

import { sql } from 'kysely';
import { Repository } from '../../store/engine/repository.ts';
import type { SpentLimitRow } from './tables.ts';

/** Allowances that all processes of a database share. */
export class SpentLimits extends Repository {
  /**
   * Takes `costMs` of an allowance of `windowMs` in one statement, so that concurrent requests do not share it. Ignores
   * a value more than a window ahead: a fast clock wrote it.
   *
   * @returns when the allowance will be full, and whether it sufficed.
   */
  async take(
    nameHash: string,
    { now, costMs, windowMs }: { readonly now: number; readonly costMs: number; readonly windowMs: number },
  ): Promise<{ readonly fullAt: number; readonly isTaken: boolean }> {
    const spentUntil = sql<number>`(case when spent_limits.full_at between ${now} and ${now + windowMs}
      then spent_limits.full_at else ${now} end)`;
    const taken = await sql<Pick<SpentLimitRow, 'full_at'>>`
      insert into spent_limits (name_hash, full_at) values (${nameHash}, ${now + costMs})
      on conflict (name_hash) do update set full_at = ${spentUntil} + ${costMs}
        where ${spentUntil} + ${costMs} <= ${now + windowMs}
      returning full_at`.execute(this.db);
    const [row] = taken.rows;
    if (row) return { fullAt: row.full_at, isTaken: true };
    const left = await this.db
      .selectFrom('spent_limits')
      .select('full_at')
      .where('name_hash', '=', nameHash)
      .executeTakeFirst();
    return { fullAt: left?.full_at ?? now, isTaken: false };
  }

  /** Deletes up to `limit` full allowances and returns whether there may be more. */
  async prune(now: number, limit: number): Promise<boolean> {
    const whole = this.db
      .selectFrom('spent_limits')
      .select('name_hash')
      .where('full_at', '<', now)
      .orderBy('full_at')
      .limit(limit);
    const { numDeletedRows } = await this.db
      .deleteFrom('spent_limits')
      .where('name_hash', 'in', whole)
      .where('full_at', '<', now)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows) === limit;
  }
}

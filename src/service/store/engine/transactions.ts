import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../tables.ts';

/** What PostgreSQL knows the service's connections by. */
export const applicationName = 'picket service';

/** When the oldest transaction of the service's processes began, by PostgreSQL; null where there is no other. */
export async function oldestTransactionMs(db: Kysely<Tables>): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(xact_start)) * 1000)::double precision as ms from pg_stat_activity
      where datname = current_database() and application_name = ${applicationName}
        and pid <> pg_backend_pid()`.execute(db);
  return rows[0]?.ms ?? null;
}

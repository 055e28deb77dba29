import { createHash } from 'node:crypto';
import { toError } from '@picket/lib/errors.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Kysely, sql } from 'kysely';

/**
 * The subject of a database: the same for all its processes, whatever route they use to reach it, and different for
 * another database. It does not change when a standby takes over.
 */
export async function subjectOf(db: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ name: string; since: string }>`
    select current_database() as name, applied_at::text as since
    from schema_migrations where position = 0`.execute(db);
  const parts = [rows[0]?.name, rows[0]?.since, await clusterOf(db)];
  return `picket.${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)}.signals`;
}

/** Distinguishes a database from its copy in another cluster. A server may hide it from its users. */
async function clusterOf(db: Kysely<Tables>): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier::text as id from pg_control_system()`.execute(db);
    return rows[0]?.id ?? '';
  } catch (thrown) {
    if (/permission denied|does not exist/.test(toError(thrown).message)) return '';
    throw thrown;
  }
}

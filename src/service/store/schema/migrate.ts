import { type Kysely, sql } from 'kysely';
import { AppError } from '../../../lib/errors.ts';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from './tables.ts';

/**
 * The schema's history. A migration that was released is frozen: later changes are new entries at the end. Each runs
 * once, in order, in a transaction together with its record. `{json}` and `{blob}` stand for the engine's column types,
 * `{serial}` for that of a primary key that the database counts up, `{instant}` for that of an instant by the database's
 * clock.
 */
export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

/**
 * Brings the schema up to date. Safe when several processes start at once: PostgreSQL holds a lock meanwhile, SQLite
 * has one writer.
 *
 * @throws AppError CONFIG_INVALID when the database was written by a newer build: an older one must not touch it.
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: Dialect,
  all: readonly Migration[],
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await dialect.lockSchema(transaction);
    await sql`create table if not exists schema_migrations (
      position integer primary key, name text not null, applied_at bigint not null)`.execute(transaction);
    const applied = await sql<{ position: number; name: string }>`
      select position, name from schema_migrations order by position`.execute(transaction);
    const unknown = applied.rows.find((row) => all[row.position]?.name !== row.name);
    if (unknown) {
      throw new AppError(
        'CONFIG_INVALID',
        `The database has schema "${unknown.name}", which this build of Picket does not know: it was written by a ` +
          'newer build. Start that build or a later one, or use another database.',
      );
    }
    for (let position = applied.rows.length; position < all.length; position += 1) {
      const migration = all[position];
      if (!migration) break;
      for (const statement of migration.statements) {
        await sql.raw(withTypes(statement, dialect)).execute(transaction);
      }
      await sql`insert into schema_migrations (position, name, applied_at)
        values (${position}, ${migration.name}, ${Date.now()})`.execute(transaction);
    }
  });
}

function withTypes(statement: string, dialect: Dialect): string {
  return statement
    .replaceAll('{json}', dialect.jsonColumn)
    .replaceAll('{blob}', dialect.blobColumn)
    .replaceAll('{serial}', dialect.serialKey)
    .replaceAll('{instant}', dialect.instantColumn);
}

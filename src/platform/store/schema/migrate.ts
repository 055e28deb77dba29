import { createHash } from 'node:crypto';
import { AppError } from '@picket/lib/errors.ts';
import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { type Migration, migrations } from './migrations.ts';

/**
 * Brings the schema up to date, in the order of the numbers in the names of the migrations. Safe when several processes
 * start at once: PostgreSQL holds a lock meanwhile, SQLite has one writer.
 *
 * @throws AppError CONFIG_INVALID when a newer build wrote the database: an older one must not touch it.
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: Dialect,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const all = known.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  await db.transaction().execute(async (transaction) => {
    await dialect.lockSchema(transaction);
    await createMigrationTable(transaction);
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
    await applyMigrations(transaction, dialect, { all, from: applied.rows.length });
    await compareChecksums(transaction, all);
  });
}

/** Creates the table that records migrations. */
export async function createMigrationTable(transaction: Kysely<Tables>): Promise<void> {
  await sql`create table if not exists schema_migrations (
    position integer primary key, name text not null, applied_at bigint not null)`.execute(transaction);
}

/** Applies migrations from a position on, and records them. */
export async function applyMigrations(
  transaction: Kysely<Tables>,
  dialect: Dialect,
  { all, from }: { readonly all: readonly Migration[]; readonly from: number },
): Promise<void> {
  for (const [index, migration] of all.slice(from).entries()) {
    for (const statement of migration.statements) {
      if (isForOther(statement, dialect)) continue;
      await sql.raw(withTypes(statement, dialect)).execute(transaction);
    }
    await sql`insert into schema_migrations (position, name, applied_at)
      values (${from + index}, ${migration.name}, ${Date.now()})`.execute(transaction);
  }
}

/**
 * Requires an applied migration to equal the one in this build: a database with a different history is not touched.
 * Adds checksums to migrations recorded before checksums existed.
 */
async function compareChecksums(transaction: Kysely<Tables>, all: readonly Migration[]): Promise<void> {
  const { rows } = await sql<{ position: number; name: string; checksum: string | null }>`
    select position, name, checksum from schema_migrations order by position`.execute(transaction);
  for (const { position, name, checksum } of rows) {
    const statements = all[position]?.statements ?? [];
    const known = createHash('sha256').update(JSON.stringify(statements)).digest('hex');
    if (checksum === null) {
      await sql`update schema_migrations set checksum = ${known} where position = ${position}`.execute(
        transaction,
      );
    } else if (checksum !== known) {
      throw new AppError(
        'CONFIG_INVALID',
        `The database was changed by another version of the migration "${name}" than this build has. Start the ` +
          'build that wrote it, or use another database.',
      );
    }
  }
}

const engines = ['postgres', 'sqlite'] as const;

function isForOther(statement: string, dialect: Dialect): boolean {
  return engines.some((name) => name !== dialect.name && statement.startsWith(`{${name}}`));
}

function withTypes(statement: string, dialect: Dialect): string {
  return statement
    .replace(`{${dialect.name}}`, '')
    .replaceAll('{json}', dialect.jsonColumn)
    .replaceAll('{blob}', dialect.blobColumn)
    .replaceAll('{serial}', dialect.serialKey)
    .replaceAll('{instant}', dialect.instantColumn);
}

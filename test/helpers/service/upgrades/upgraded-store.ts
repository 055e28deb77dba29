import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { connectPostgres } from '../../../../src/platform/store/engine/connect-postgres.ts';
import { connectSqlite } from '../../../../src/platform/store/engine/dialect.ts';
import { applyMigrations, createMigrationTable } from '../../../../src/platform/store/schema/migrate.ts';
import { migrations } from '../../../../src/platform/store/schema/migrations.ts';
import { features } from '../../../../src/server/features.ts';
import { openHarness, type ServiceHarness } from '../service.ts';
import type { RecordedStore } from './recorded-store.ts';

/** The migrations of a build, which create its schema: released migrations are frozen. */
function migrationsOf({ migrations: names }: RecordedStore) {
  const all = [...migrations, ...features.flatMap((feature) => feature.migrations ?? [])];
  return names.map((name) => {
    const found = all.find((one) => one.name === name);
    if (!found) throw new Error(`the migration "${name}" is gone`);
    return found;
  });
}

/** Starts the service on the SQLite store that a build left. */
export async function upgradeSqlite(recorded: RecordedStore, folder: string): Promise<ServiceHarness> {
  const { db, dialect } = connectSqlite(join(folder, 'picket.sqlite'), () => undefined);
  await createMigrationTable(db);
  await applyMigrations(db, dialect, { all: migrationsOf(recorded), from: 0 });
  await sql`pragma foreign_keys = off`.execute(db);
  for (const [table, rows] of Object.entries(recorded.tables)) {
    for (const row of rows) {
      const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
      const values = sql.join(Object.values(row).map(bytesOf));
      await sql`insert or replace into ${sql.table(table)} (${columns}) values (${values})`.execute(db);
    }
  }
  await db.destroy();
  return openHarness({ folder });
}

/** Starts the service on a PostgreSQL database with the rows that a build left. */
export async function upgradePostgres(recorded: RecordedStore, databaseUrl: string): Promise<ServiceHarness> {
  const { db, dialect } = connectPostgres({ databaseUrl, onPoolError: () => undefined });
  await createMigrationTable(db);
  await applyMigrations(db, dialect, { all: migrationsOf(recorded), from: 0 });
  await db.destroy();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('set session_replication_role = replica');
  for (const [table, rows] of Object.entries(recorded.tables)) {
    const { rows: json } = await client.query(
      `select column_name from information_schema.columns where table_name = $1 and data_type = 'json'`,
      [table],
    );
    const isJson = new Set(json.map(({ column_name: name }) => name));
    const text = `[${rows.map((row) => rowText(row, isJson)).join()}]`;
    const columns = Object.keys(rows[0] ?? {}).map((column) => `"${column}"`);
    await client.query(
      `insert into "${table}" (${columns}) overriding system value select ${columns} from json_populate_recordset(null::"${table}", $1)
       on conflict do nothing`,
      [text],
    );
  }
  await client.query(`do $$ declare one record; begin
    for one in select table_name, column_name from information_schema.columns
      where table_schema = 'public' and pg_get_serial_sequence(quote_ident(table_name), column_name) is not null
    loop
      execute format('select setval(pg_get_serial_sequence(%L, %L), (select coalesce(max(%I), 0) + 1 from %I))',
        quote_ident(one.table_name), one.column_name, one.column_name, one.table_name);
    end loop; end $$`);
  await client.end();
  return openHarness({ databaseUrl });
}

type Row = RecordedStore['tables'][string][number];

function bytesOf(value: Row[string]): unknown {
  return typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value;
}

/** A row in PostgreSQL's syntax; JSON columns keep their text. */
function rowText(row: Row, isJson: ReadonlySet<string>): string {
  const members = Object.entries(row).map(([column, value]) => {
    const plain = bytesOf(value);
    if (isJson.has(column) && typeof plain === 'string') return `${JSON.stringify(column)}:${plain}`;
    const text = plain instanceof Buffer ? `\\x${plain.toString('hex')}` : plain;
    return `${JSON.stringify(column)}:${JSON.stringify(text)}`;
  });
  return `{${members.join()}}`;
}

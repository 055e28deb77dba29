import pg from 'pg';
import { inject } from 'vitest';
import { createDatabase, whyNoPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that all files of a test run share; undefined without PostgreSQL. */
    sharedPostgresUrl: string | undefined;
    /** The name of its database with the current schema, which others are copied from. */
    migratedTemplate: string;
  }
}

/** Creates an empty database in the shared cluster. Returns its URL. */
export async function emptyDatabase(): Promise<string> {
  return await createDatabase(sharedUrl(), 'template1');
}

/** Creates a database in the shared cluster that is migrated and otherwise empty. Returns its URL. */
export async function migratedDatabase(): Promise<string> {
  return await createDatabase(sharedUrl(), inject('migratedTemplate'));
}

/** The database of `emptiedDatabase`, a connection to it, and its number of migrations. */
let kept: { readonly url: string; readonly client: pg.Client; readonly migrations: number } | undefined;

/**
 * Returns the URL of a database that is migrated and otherwise empty. All tests of a process share one, in turn:
 * emptying it costs a tenth of creating a new one. Open connections are terminated.
 */
export async function emptiedDatabase(): Promise<string> {
  if (kept !== undefined) {
    await emptyTables(kept.client);
    // A test changed its schema: the database is left to that test.
    if ((await migrationsOf(kept.client)) !== kept.migrations) {
      await kept.client.end();
      kept = undefined;
    }
  }
  if (kept === undefined) {
    const url = await migratedDatabase();
    // A kept connection has already cached all tables, which costs more than emptying them.
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    kept = { url, client, migrations: await migrationsOf(client) };
  }
  return kept.url;
}

async function migrationsOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query('select count(*)::integer as migrations from schema_migrations');
  return rows[0].migrations;
}

/** Above this size, dead rows would cost later tests more than new table files. */
const largeTableBytes = 1_000_000;

/** Deletes all rows of a database. */
async function emptyTables(client: pg.Client): Promise<void> {
  // A connection that is being closed may still hold its locks.
  await client.query(`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`);
  await client.query(`
    set session_replication_role = replica; -- in any order, whatever refers to what
    do $$
    declare
      one regclass;
      is_filled boolean;
    begin
      for one in
        select oid from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations'
      loop
        execute format('select exists (select from %s)', one) into is_filled;
        if pg_relation_size(one) > ${largeTableBytes} then execute format('truncate %s cascade', one);
        elsif is_filled then execute format('delete from %s', one);
        end if;
      end loop;
      perform setval(oid::regclass, 1, false) from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'S';
    end $$`);
}

function sharedUrl(): string {
  const url = inject('sharedPostgresUrl');
  if (url === undefined) throw new Error(whyNoPostgres() ?? 'the shared cluster was not started');
  return url;
}

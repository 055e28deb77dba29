import pg from 'pg';
import { inject } from 'vitest';
import { createDatabase, whyNoPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster that all files of a run share; undefined where there is no PostgreSQL. */
    sharedPostgresUrl: string | undefined;
    /** Its database with the present schema, from which others are copied. */
    migratedTemplate: string;
  }
}

/** A URL to a new, empty database of the shared cluster. */
export async function emptyDatabase(): Promise<string> {
  return await createDatabase(sharedUrl(), 'template1');
}

/** A URL to a new database of the shared cluster that is migrated and otherwise empty. */
export async function migratedDatabase(): Promise<string> {
  return await createDatabase(sharedUrl(), inject('migratedTemplate'));
}

/** What `emptiedDatabase` gives, a connection to it, and how many migrations it has. */
let kept: { readonly url: string; readonly client: pg.Client; readonly migrations: number } | undefined;

/**
 * A URL to a database that is migrated and otherwise empty. All tests of a process that ask for one have the same, one after the
 * other: to empty it costs a tenth of what a new one does. Whoever is still connected is cut off.
 */
export async function emptiedDatabase(): Promise<string> {
  if (kept !== undefined) {
    await emptyTables(kept.client);
    // Somebody has changed its schema: it stays theirs.
    if ((await migrationsOf(kept.client)) !== kept.migrations) {
      await kept.client.end();
      kept = undefined;
    }
  }
  if (kept === undefined) {
    const url = await migratedDatabase();
    // A connection that stays knows all tables already, which costs more than to empty them.
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

/** Above it, rows that were deleted and still lie there would cost the next tests more than a new file does. */
const largeTableBytes = 1_000_000;

/** Takes everything but the schema out of a database. */
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

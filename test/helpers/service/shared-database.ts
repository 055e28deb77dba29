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

function sharedUrl(): string {
  const url = inject('sharedPostgresUrl');
  if (url === undefined) throw new Error(whyNoPostgres() ?? 'the shared cluster was not started');
  return url;
}

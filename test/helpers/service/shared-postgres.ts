import type { TestProject } from 'vitest/node';
import { createLogger } from '../../../src/lib/log.ts';
import { openStore } from '../../../src/server/compose.ts';
import { createDatabase, findPostgres, startPostgres } from './postgres.ts';

/** The database with the current schema, which others are copied from. */
const migratedTemplate = 'migrated';

/** vitest's global setup of the system tier: one PostgreSQL cluster for all files, with a migrated database to copy. */
export default async function start(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  project.provide('migratedTemplate', migratedTemplate);
  if (findPostgres() === null) {
    project.provide('sharedPostgresUrl', undefined);
    return undefined;
  }
  // Hundreds of small databases that do not outlive their tests: no vacuuming and no durability.
  const server = await startPostgres({
    settings: {
      autovacuum: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      checkpoint_timeout: '1h',
      max_wal_size: '8GB',
    },
  });
  const databaseUrl = await createDatabase(await server.createDatabase(), 'template1', migratedTemplate);
  const store = await openStore({ databaseUrl, path: '', logger: createLogger('test', 'silent') });
  await store.close();
  project.provide('sharedPostgresUrl', databaseUrl.replace(`/${migratedTemplate}`, '/postgres'));
  return () => server.stop();
}

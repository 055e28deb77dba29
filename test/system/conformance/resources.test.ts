import { describe } from 'vitest';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { expectNoNestedQueries } from '../../helpers/service/query-warnings.ts';
import { migratedDatabase } from '../../helpers/service/shared-database.ts';
import { resourceSuites } from '../../integration/conformance/resource-suites.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(`resources on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  resourceSuites(async () => ({ databaseUrl: await migratedDatabase() }));
  expectNoNestedQueries();
});

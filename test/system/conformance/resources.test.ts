import { describe } from 'vitest';
import { expectNoNestedQueries } from '../../helpers/service/nested-queries.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptiedDatabase } from '../../helpers/service/shared-database.ts';
import { resourceSuites } from '../../integration/conformance/resource-suites.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(`resources on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  resourceSuites(async () => ({ databaseUrl: await emptiedDatabase() }));
  expectNoNestedQueries();
});

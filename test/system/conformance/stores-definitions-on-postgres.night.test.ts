import { describe } from 'vitest';
import { expectNoNestedQueries } from '../../helpers/service/nested-queries.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptiedDatabase } from '../../helpers/service/shared-database.ts';
import { StoreStage } from '../../integration/conformance/store-suites/stage.ts';
import { definitionSuites } from '../../integration/conformance/store-suites/store-suites.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(
  `definitions in a store on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`,
  () => {
    definitionSuites(new StoreStage(async () => ({ databaseUrl: await emptiedDatabase() })));
    expectNoNestedQueries();
  },
);

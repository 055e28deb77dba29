import { describe } from 'vitest';
import { expectNoNestedQueries } from '../../helpers/service/nested-queries.ts';
import { whyNoPostgres } from '../../helpers/service/postgres.ts';
import { emptiedDatabase } from '../../helpers/service/shared-database.ts';
import { AlertStage } from '../../integration/conformance/alert-suites/alert-stage.ts';
import { causeSuites, deliverySuites } from '../../integration/conformance/alert-suites/alert-suites.ts';

const noPostgres = whyNoPostgres();

describe.skipIf(noPostgres !== null)(`alerts on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  const stage = new AlertStage(async () => ({ databaseUrl: await emptiedDatabase() }));
  deliverySuites(stage, true);
  causeSuites(stage);
  expectNoNestedQueries();
});

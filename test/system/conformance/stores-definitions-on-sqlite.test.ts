import { describe } from 'vitest';
import { expectNoFullScans } from '../../helpers/service/full-scans.ts';
import { StoreStage, sqlitePlace } from '../../integration/conformance/store-suites/stage.ts';
import { definitionSuites } from '../../integration/conformance/store-suites/store-suites.ts';

// The same on PostgreSQL: test/system/conformance/stores-definitions-on-postgres.night.test.ts
describe('definitions in a store on SQLite', () => {
  definitionSuites(new StoreStage(sqlitePlace));
  expectNoFullScans();
});

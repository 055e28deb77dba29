import { describe } from 'vitest';
import { expectNoFullScans } from '../../helpers/service/full-scans.ts';
import { StoreStage, sqlitePlace } from '../../integration/conformance/store-suites/stage.ts';
import { runSuites } from '../../integration/conformance/store-suites/store-suites.ts';

// The same on PostgreSQL: test/system/conformance/stores-runs-on-postgres.test.ts
describe('runs in a store on SQLite', () => {
  runSuites(new StoreStage(sqlitePlace));
  expectNoFullScans();
});

import { describe } from 'vitest';
import { expectNoFullScans } from '../../helpers/service/full-scans.ts';
import { StoreStage, sqlitePlace } from './store-suites/stage.ts';
import { storeSuites } from './store-suites/store-suites.ts';

// The same on PostgreSQL: test/system/conformance/stores.test.ts
describe('a store on SQLite', () => {
  storeSuites(new StoreStage(sqlitePlace));
  expectNoFullScans();
});

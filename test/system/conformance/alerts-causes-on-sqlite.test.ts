import { describe } from 'vitest';
import { AlertStage } from '../../integration/conformance/alert-suites/alert-stage.ts';
import { causeSuites } from '../../integration/conformance/alert-suites/alert-suites.ts';
import { sqlitePlace } from '../../integration/conformance/store-suites/stage.ts';

// The same on PostgreSQL: test/system/conformance/alerts-on-postgres.night.test.ts
describe('causes of alerts on SQLite', () => {
  causeSuites(new AlertStage(sqlitePlace));
});

import { describe } from 'vitest';
import { AlertStage } from './alert-suites/alert-stage.ts';
import { alertSuites } from './alert-suites/alert-suites.ts';
import { sqlitePlace } from './store-suites/stage.ts';

// The same on PostgreSQL: test/system/conformance/alerts.test.ts
describe('alerts on SQLite', () => {
  alertSuites(new AlertStage(sqlitePlace), false);
});

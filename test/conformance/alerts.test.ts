import { afterAll, beforeAll, describe } from 'vitest';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../helpers/postgres.ts';
import { AlertStage } from './alert-suites/alert-stage.ts';
import { transitionSuite } from './alert-suites/transitions.ts';
import { sqlitePlace } from './store-suites/stage.ts';

const noPostgres = whyNoPostgres();

function alertSuites(stage: AlertStage): void {
  describe('transitions', () => transitionSuite(stage));
}

describe('alerts on SQLite', () => {
  alertSuites(new AlertStage(sqlitePlace));
});

describe.skipIf(noPostgres !== null)(`alerts on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });
  alertSuites(new AlertStage(async () => ({ databaseUrl: await server.createDatabase() })));
});

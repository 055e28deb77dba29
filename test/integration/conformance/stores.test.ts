import { afterAll, beforeAll, describe } from 'vitest';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { analyticsSuite } from './store-suites/analytics.ts';
import { apiSuite } from './store-suites/api.ts';
import { availabilitySuite } from './store-suites/availability.ts';
import { changeSuite } from './store-suites/changes.ts';
import { errorGroupSuite } from './store-suites/error-groups.ts';
import { factSuite } from './store-suites/facts.ts';
import { groupSuite } from './store-suites/groups.ts';
import { heartbeatSuite } from './store-suites/heartbeats.ts';
import { incidentSuite } from './store-suites/incidents.ts';
import { leaseSuite } from './store-suites/leases.ts';
import { maintenanceSuite } from './store-suites/maintenance.ts';
import { occurrenceSuite } from './store-suites/maintenance-occurrences.ts';
import { pageSuite } from './store-suites/pages.ts';
import { resourceSuite } from './store-suites/resources.ts';
import { retentionSuite } from './store-suites/retention.ts';
import { sessionSuite } from './store-suites/sessions.ts';
import { slotSuite } from './store-suites/slots.ts';
import { StoreStage, sqlitePlace } from './store-suites/stage.ts';
import { suiteErrorSuite } from './store-suites/suite-errors.ts';

const noPostgres = whyNoPostgres();

function storeSuites(stage: StoreStage): void {
  leaseSuite(stage);
  slotSuite(stage);
  apiSuite(stage);
  changeSuite(stage);
  factSuite(stage);
  pageSuite(stage);
  resourceSuite(stage);
  groupSuite(stage);
  maintenanceSuite(stage);
  occurrenceSuite(stage);
  incidentSuite(stage);
  heartbeatSuite(stage);
  errorGroupSuite(stage);
  sessionSuite(stage);
  suiteErrorSuite(stage);
  analyticsSuite(stage);
  availabilitySuite(stage);
  retentionSuite(stage);
}

describe('a store on SQLite', () => {
  storeSuites(new StoreStage(sqlitePlace));
});

describe.skipIf(noPostgres !== null)(`a store on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });
  storeSuites(new StoreStage(async () => ({ databaseUrl: await server.createDatabase() })));
});

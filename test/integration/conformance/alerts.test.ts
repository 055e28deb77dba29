import { afterAll, beforeAll, describe } from 'vitest';
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../helpers/service/postgres.ts';
import { AlertStage } from './alert-suites/alert-stage.ts';
import { channelSuite } from './alert-suites/channels.ts';
import { deliverySuite } from './alert-suites/delivery.ts';
import { incidentSuite } from './alert-suites/incidents.ts';
import { outageSuite } from './alert-suites/outages.ts';
import { sicknessSuite } from './alert-suites/sickness.ts';
import { transitionSuite } from './alert-suites/transitions.ts';
import { sqlitePlace } from './store-suites/stage.ts';

const noPostgres = whyNoPostgres();

function alertSuites(stage: AlertStage, isShared: boolean): void {
  describe('channels', () => channelSuite(stage));
  describe('transitions', () => transitionSuite(stage));
  describe('delivery', () => deliverySuite(stage, { isShared }));
  describe('outages of private locations', () => outageSuite(stage));
  describe('sick private locations', () => sicknessSuite(stage));
  describe('incidents and certificates', () => incidentSuite(stage));
}

describe('alerts on SQLite', () => {
  alertSuites(new AlertStage(sqlitePlace), false);
});

describe.skipIf(noPostgres !== null)(`alerts on PostgreSQL${noPostgres ? `: ${noPostgres}` : ''}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
  });
  alertSuites(new AlertStage(async () => ({ databaseUrl: await server.createDatabase() })), true);
});

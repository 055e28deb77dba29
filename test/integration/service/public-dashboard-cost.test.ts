import type { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectSqlite, type Dialect } from '../../../src/platform/store/engine/dialect.ts';
import { migrate } from '../../../src/platform/store/schema/migrate.ts';
import type { Tables } from '../../../src/platform/store/tables.ts';
import { DashboardOptions } from '../../../src/protocol/pages/dashboard.ts';
import { CheckStates } from '../../../src/service/checks/state/states.ts';
import { checkCoverages } from '../../../src/service/coverage/coverage-query.ts';
import { SlotDays } from '../../../src/service/coverage/slot-days.ts';
import { dashboardChecks, dashboardData } from '../../../src/service/pages/dashboards/dashboard-data.ts';
import { DashboardIncidents } from '../../../src/service/pages/dashboards/incident-store.ts';
import type { Dashboard } from '../../../src/service/pages/dashboards/store.ts';
import { reportAggregates } from '../../../src/service/results/analytics/report-aggregates.ts';
import { ResultColumns } from '../../../src/service/results/columns/result-columns.ts';
import { Reports } from '../../../src/service/results/reports/store.ts';
import { Results } from '../../../src/service/results/store.ts';
import { insertWithDefaults, recordStatements } from '../../helpers/service/recorded-statements.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { resultRow } from '../conformance/store-suites/result-samples.ts';

const hourMs = 3_600_000;
const now = Date.UTC(2026, 5, 15, 12);
const checkCount = 2_000;
const checksWithHistory = 3;
const dashboard: Dashboard = {
  ...{ id: 1, account_id: 'a', dashboard_id: 'd', custom_url: 'all', custom_domain: null, is_private: 0 },
  ...{ definition: '{}', created: 0, updated: null },
};
const options = DashboardOptions.parse({ header: 'All', paginate: false });

let folder: ReturnType<typeof temporaryFolder>;
let db: Kysely<Tables>;
let dialect: Dialect;
const path = () => `${folder.path}/picket.sqlite`;
const checkId = (index: number) => `check-${String(index).padStart(4, '0')}`;

beforeEach(async () => {
  folder = temporaryFolder();
  ({ db, dialect } = connectSqlite(path(), () => undefined));
  await migrate(db, dialect);
  insertWithDefaults(path(), 'accounts', { id: 'a' });
  const numbers = Array.from({ length: checkCount }, (_, index) => index);
  const check = { account_id: 'a', activated: 1, check_type: 'URL', definition: '{}', interval_ms: hourMs };
  const names = numbers.map((index) => ({ id: checkId(index), name: checkId(index) }));
  insertWithDefaults(path(), 'checks', ...names.map((one) => ({ ...check, ...one, name_search: one.name })));
});
afterEach(async () => {
  await db.destroy();
  folder.remove();
});

/** Stores a week of history for some checks, except the last day: one result per slot, sealed as by a service. */
async function leaveHistory(resultsPerCheck: number): Promise<void> {
  const [begunAt, endedAt] = [now - 6 * 24 * hourMs, now - 25 * hourMs];
  for (let index = 0; index < checksWithHistory; index += 1) {
    const id = checkId(index);
    const rows = Array.from({ length: resultsPerCheck }, (_, slot) => {
      const at = Math.floor(begunAt + (slot * (endedAt - begunAt)) / resultsPerCheck);
      return { ...resultRow(id, 'a', at, { responseTime: 100 + (slot % 50) }) };
    });
    await new Results(db, dialect).insert(rows);
    const run = { account_id: 'a', check_id: id, state: 'final', slot_count: 1, slot_location: 'lab' };
    insertWithDefaults(
      path(),
      'runs',
      ...rows.map(({ run_id, slot_at, created }) => ({ ...run, id: run_id, slot_at, created })),
    );
    const [columns, days] = [new ResultColumns(db, dialect), new SlotDays(db, dialect)];
    while (await columns.sealNext(id, now));
    while (await days.sealNext(id, now));
  }
}

/** Reads the first page of the dashboard over this connection only. */
async function shown(connection: Kysely<Tables>) {
  const repositories = {
    reports: new Reports(connection, dialect),
    dashboardIncidents: new DashboardIncidents(connection, dialect),
    states: new CheckStates(connection, dialect),
  };
  const columns = new ResultColumns(connection, dialect);
  const byCheck = <T extends { readonly checkId: string }>(found: readonly T[]) =>
    new Map(found.map((one) => [one.checkId, one]));
  const checks = await dashboardChecks(repositories, dashboard, options);
  const analytics: Parameters<typeof dashboardData>[1] = {
    report: async (asked, { from, to }) => {
      const withMetric = asked.map(({ id }) => ({ id, metric: 'responseTime' }));
      return byCheck(
        await reportAggregates({ db: connection, dialect, columns }, { checks: withMetric, from, to }),
      );
    },
    coverage: async (query) => byCheck(await checkCoverages(new SlotDays(connection, dialect), query)),
  };
  const request = { dashboard, options, checks, page: 1, now, publicUrl: undefined };
  return dashboardData(repositories, analytics, request);
}

it('a public dashboard of 2,000 checks costs the same with ten times as many results', async () => {
  const costs = [];
  for (const resultsPerCheck of [120, 1_200]) {
    await db.deleteFrom('runs').execute();
    for (const table of ['results', 'result_chunks', 'result_columns', 'slot_days', 'slot_seals'] as const)
      await db.deleteFrom(table).execute();
    await leaveHistory(resultsPerCheck);
    costs.push(await recordStatements(path(), db, shown));
  }
  const [few, many] = costs;
  expect(many?.statementCount).toBe(few?.statementCount);
  expect(many?.rowCount).toBe(few?.rowCount);
  // A few statements for each check on the page, none for checks on further pages.
  expect(many?.statementCount).toBeLessThan(4 * 500);
  expect(many?.plans).toMatch(/INDEX results_by_check\b/);
  expect(many?.plans).toMatch(/INDEX runs_of_schedule\b/);
  expect(many?.plans).not.toMatch(/SCAN (results|runs|result_chunks|result_columns|slot_days|slot_seals)$/m);
});

it('a public dashboard shows the same once only aggregates are left of old results', async () => {
  await leaveHistory(120);
  const before = await shown(db);
  expect(before.checks[0]?.last7Days).toMatchObject({ p95: 146 });
  await db.deleteFrom('results').execute();
  await db.deleteFrom('runs').execute();
  expect(await shown(db)).toEqual(before);
});

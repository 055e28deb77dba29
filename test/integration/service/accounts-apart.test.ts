import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { connectSqliteToRead } from '../../../src/platform/store/engine/dialect.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { sendPlanned } from '../../helpers/service/api-requests/api-requests.ts';
import { type InhabitedAccount, inhabit } from '../../helpers/service/api-requests/inhabited-account.ts';
import { StatementObserver } from '../../helpers/service/observed-statements.ts';
import {
  createCheck,
  metricsToken,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  temporaryFolder,
} from '../../helpers/service/service.ts';

const source = join(import.meta.dirname, '../../../src/service');

/** Statements of requests without an account in them, with the reason. */
const ofNoAccount: Readonly<Record<string, string>> = {
  'http/shared-limits/store take': 'how often somebody without a session has tried, by a hash',
  'alerts/delivery/store find': 'asks for an id that nothing has',
  'pages/subscriptions/store confirm': 'asks for a token that nothing has',
  'pages/subscriptions/store deleteByToken': 'asks for a token that nothing has',
  'audit/store remove':
    'the line of a request that changed nothing, by its id: it is gone before anybody learns whose it was',
  'logins/store deleteExpired': 'at a login: sessions that are over, of everybody',
  'locations/store forgetAgents': 'now and then: agents that were not seen for long, of everybody',
};

/** Stores in which a statement of a background job, or of operator metrics, covers all accounts, by purpose. */
const acrossAccounts: Readonly<Record<string, readonly string[]>> = {
  'slots that are due, and what their checks need': [
    'checks/store',
    'checks/timing/due-checks',
    'checks/groups/store',
    'locations/store',
    'maintenance/window-store',
    'runs/store',
  ],
  'leases that ended, and what their runs belong to': [
    'runs/lease-store',
    'sessions/stored/check-session-store',
    'sessions/stored/test-session-store',
  ],
  'alerts that are due, and whom they go to': [
    'accounts/store',
    'alerts/store',
    'alerts/channels/store',
    'alerts/causes/store',
    'alerts/gaps/store',
    'alerts/handling/store',
    'alerts/receivers/store',
  ],
  'a fair share of what is due for each account': ['alerts/delivery/store', 'analyses/store'],
  'heartbeats that are overdue, budgets that burn, status pages whose copies are old, events of incidents': [
    'heartbeats/store',
    'heartbeats/job-run-store',
    'slos/store',
    'slos/burn-store',
    'pages/store',
    'incidents/store',
  ],
  'retention, and results that are sealed for analytics': [
    'retention/retention-store',
    'coverage/slot-days',
    'results/artifacts/store',
    'results/columns/oldest-results',
    'results/columns/result-columns',
    'results/details/detail-counts',
    'results/store',
  ],
  'metrics of all accounts': [
    'checks/state/states',
    'check-metrics/store',
    'incidents/rules/failure-store',
    'locations/minute-store',
    'projects/deployment-store',
    'results/status-store',
  ],
};

it('are never joined: no row of a statement contains data of two, and requests access one', async () => {
  const folder = temporaryFolder();
  const path = join(folder.path, 'picket.sqlite');
  const harness = await openHarness({ folder: folder.path });
  using observer = new StatementObserver(path);
  const accounts = [
    await inhabit(harness),
    await inhabit(await asOther(harness), undefined, 'other.example'),
  ];
  for (const account of accounts) await work(account);
  observer.learn();
  for (const account of accounts) await askEverything(account);
  observer.learn();
  const requests = observer.observed();
  expect(sum(requests.map(({ counts }) => counts.one))).toBeGreaterThan(3_000);
  expect(requests.filter(({ counts }) => counts.several > 0)).toEqual([]);
  expect(requests.filter(({ from, counts }) => counts.one === 0 && !(from in ofNoAccount))).toEqual([]);

  observer.startAnew();
  makeDue(path);
  for (const [name, start] of Object.entries(harness)) if (name.startsWith('start')) start();
  for (const metrics of ['/metrics', '/metrics/checks']) {
    expect((await harness.call('GET', metrics, undefined, { key: metricsToken })).status).toBe(200);
  }
  const turns = [
    'checks/timing/due-checks setNextSlots',
    'heartbeats/store overdue',
    'retention/retention-store removeRuns',
  ];
  const isSeen = (turn: string) => observer.observed().some(({ from }) => from === turn);
  await expect.poll(() => turns.filter(isSeen)).toEqual(turns);
  observer.learn();
  const jobs = observer.observed();
  const throughAll = jobs.filter(({ counts }) => counts.several > 0);
  expect(throughAll.length).toBeGreaterThan(5);
  const stores = Object.values(acrossAccounts).flat();
  expect(throughAll.filter(({ from }) => !stores.includes(from.split(' ')[0] ?? ''))).toEqual([]);
  for (const store of stores) expect(existsSync(join(source, `${store}.ts`)), store).toBe(true);
  // In any case, no row combines data of two accounts.
  expect([...requests, ...jobs].filter(({ mixedRows }) => mixedRows > 0)).toEqual([]);

  observer.startAnew();
  const { db } = connectSqliteToRead(path);
  await sql`select one.id as one, other.id as other from checks as one
    join checks as other on other.account_id <> one.account_id limit 3`.execute(db);
  expect(observer.observed().find(({ mixedRows }) => mixedRows === 3)?.counts.several).toBe(1);
  await db.destroy();
  await harness.close();
  folder.remove();
});

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** Another account of the same service, with different addresses for its objects. */
async function asOther(harness: ServiceHarness): Promise<ServiceHarness> {
  const account = await harness.addAccount();
  const renamed = <Value>(value: Value): Value =>
    value === undefined
      ? value
      : JSON.parse(JSON.stringify(value).replaceAll(/known-(dashboard|page|components)/g, 'other-$1'));
  return {
    ...harness,
    ...account,
    call: (method, path, body, options) =>
      harness.call(method, renamed(path), renamed(body), { key: account.key, ...options }),
  };
}

/** Makes slots, leases and heartbeats of all accounts due now. */
function makeDue(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('pragma busy_timeout = 60000');
  const now = Date.now();
  database.exec(`
    update checks set next_slot_at = ${now} where next_slot_at is not null;
    update runs set lease_until = ${now} where state = 'leased';
    update heartbeats set deadline_at = ${now} where deadline_at is not null`);
  database.close();
}

/** An agent of the account claims due runs and reports failures, and releases the runs of its next claim. */
async function work({ harness, location }: InhabitedAccount): Promise<void> {
  const agent = new TestAgent(harness, location);
  await agent.claim();
  const types = checkTypes.map(({ name }) => name);
  // Scheduled runs are paused by the account's maintenance window.
  const check = await createCheck(harness, { privateLocations: ['lab'], doubleCheck: false });
  await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
  const free = { checkTypes: types, freeSlots: { probe: 100, script: 100 }, waitMs: 0 };
  const runs = await agent.claim(free);
  expect(runs.length).toBeGreaterThan(0);
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
  await agent.renew(runs);
  await agent.report(
    runs.map((run) => reportOf(run, { failure: refused, errorMessages: [refused.message] })),
  );
  await agent.release(await agent.claim(free));
}

/** Sends the smallest valid request of every reading operation, then of those that change and delete. */
async function askEverything(account: InhabitedAccount): Promise<void> {
  const order = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const isLong = /^(await|call|follow|testAlertChannel)/;
  const routes = allRoutes.filter(({ operationId }) => !isLong.test(operationId));
  for (const route of routes.toSorted((a, b) => order.indexOf(a.method) - order.indexOf(b.method))) {
    if (route.isBodyRaw) continue;
    await sendPlanned(account, {
      route,
      body: route.documentedBody || route.body ? {} : undefined,
      query: {},
      wrong: undefined,
      turn: 0,
      pathValues: route.method === 'DELETE' ? 'last' : 'first',
      nonsense: [],
    });
  }
}

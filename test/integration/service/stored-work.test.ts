import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { unreadableValues } from '../../../src/platform/store/stored-json.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
  temporaryFolder,
  until,
} from '../../helpers/service/service.ts';

const folder = temporaryFolder();
let harness: ServiceHarness;
let database: DatabaseSync;
const unreadable = new Set<string>();
const note = (value: unknown) => void unreadable.add((value as { column: string }).column);

beforeAll(async () => {
  unreadableValues.subscribe(note);
  harness = await openHarness({ folder: folder.path });
  database = new DatabaseSync(join(folder.path, 'picket.sqlite'));
  database.exec('pragma busy_timeout = 60000');
});
afterAll(async () => {
  unreadableValues.unsubscribe(note);
  database.close();
  await harness.close();
  folder.remove();
});

const write = (statement: string, ...values: (string | number)[]) =>
  database.prepare(statement).run(...values);

it('a deployment with an unreadable request or caller fails, and deletes nothing', async () => {
  const { call } = harness;
  const payload = { checkType: 'URL', name: 'kept', request: { url: 'http://a.test/', method: 'GET' } };
  const deploy = async (logicalId: string, resources: readonly object[]) => {
    const body = { project: { logicalId, name: logicalId }, resources };
    const answer = await call('POST', '/v1/projects/deploy?scheduleOnDeploy=false', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  };
  const lastOf = async (project: string) =>
    (await call('GET', `/next/projects/${project}`)).body.lastDeployment as
      | {
          status?: string;
        }
      | undefined;
  const endOf = (project: string) =>
    until(`${project} ends`, async () => /SUCC|FAIL/.test((await lastOf(project))?.status ?? ''), 20_000);
  harness.startDeployments();
  await deploy('shop', [{ type: 'check', logicalId: 'a', payload }]);
  await endOf('shop');
  expect((await lastOf('shop'))?.status).toBe('SUCCEEDED');

  for (const [column, text] of [
    ['request', '{"input":{"resou'],
    ['caller', '"nobody"'],
  ]) {
    // In one transaction with the row that the job claims, so that it never sees the valid text.
    database.exec(`create trigger cut after insert on deployments begin
      update deployments set ${column} = '${text}' where id = new.id; end`);
    await deploy('shop', []);
    database.exec('drop trigger cut');
    await endOf('shop');
    const last = await lastOf('shop');
    expect(last?.status).toBe('FAILED');
    expect(JSON.stringify(last)).toContain('cannot be read. Deploy again.');
  }
  expect((await call('GET', '/v1/checks')).body).toMatchObject([{ name: 'kept' }]);
});

it('unreadable events and causes, or those of other builds, delay no other cause of the account', async () => {
  const { accountId } = harness;
  const now = Date.now();
  const known = await createCheck(harness, { name: 'known', activated: false });
  const fact = { checkId: known.id, name: 'known', since: now, slotAt: now, symptom: 'unreachable' };
  const news = [
    '{"kind":"fail',
    JSON.stringify({ kind: 'failure', channelIds: [] }),
    JSON.stringify({ kind: 'of a later build', checkId: known.id }),
    JSON.stringify({ kind: 'recovery', checkId: known.id }),
    JSON.stringify({ kind: 'failure', fact, alertId: 'alert-1' }),
  ];
  for (const content of news) {
    await harness.store.alertCauses.addNews({
      account_id: accountId,
      check_id: known.id,
      content,
      created: now,
      due: now,
    });
  }
  const older = {
    id: 'older',
    kind: 'host',
    evidence: 'a.test',
    reason: '',
    began: 1,
    opened: 1,
    members: [{ fact, alertId: 'x', channelIds: [1], joined: 1, recovered: null }],
  };
  for (const [id, state] of [
    ['older', JSON.stringify(older)],
    ['cut', '{"id":"cut","memb'],
  ] as const) {
    write(
      'insert into alert_causes (id, account_id, kind, state, opened, closed, next_at) values (?, ?, ?, ?, 1, null, 1)',
      id,
      accountId,
      'host',
      state,
    );
  }
  harness.startAlerting();
  const waiting = () => database.prepare('select count(*) as n from alert_cause_news').get()?.n;
  await until('no news wait', () => waiting() === 0, 20_000);
  const open = database.prepare('select id from alert_causes where closed is null order by id').all();
  expect(open.map(({ id }) => id)).not.toContain('cut');
});

it('a session with an unreadable retry strategy, and results with unreadable measures, are accepted and counted', async () => {
  const { call } = harness;
  const location = await createLocation(harness, 'lab');
  const agent = new TestAgent(harness, location);
  await agent.claim();
  const check = await createCheck(harness, {
    name: 'measured',
    privateLocations: ['lab'],
    doubleCheck: false,
  });
  const target = {
    name: 't',
    projectId: 'p',
    runLocation: 'lab',
    target: { checkId: [check.id] },
    retryStrategy: { type: 'FIXED' },
  };
  expect((await call('POST', '/v1/test-sessions/trigger', target)).status).toBeLessThan(300);
  expect(
    (await call('POST', '/v1/check-sessions/trigger', { target: { checkId: [check.id] } })).status,
  ).toBeLessThan(300);
  write(`update test_sessions set retry_strategy = '{"ty'`);
  const runs = await agent.claim({ waitMs: 5_000 });
  expect(runs).toHaveLength(2);
  const refused = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 10.0.0.5:80');
  const fields = { failure: refused, errorMessages: [refused.message] };
  const receipts = await agent.report(runs.map((run) => reportOf(run, fields)));
  expect(receipts).toEqual(['accepted', 'accepted']);

  for (const measured of ['[[null,{"total', '{}', '[null,[],[null],[null,{}]]']) {
    write('update results set measured = ?', measured);
    const series = await call(
      'GET',
      `/v1/analytics/url-monitors/${check.id}?quickRange=last24Hours&metrics=responseTime`,
    );
    expect([series.status, series.body.message]).toEqual([200, undefined]);
  }
  expect(unreadable).toContain('results.measured');
  expect(unreadable).toContain('test_sessions.retry_strategy');
});

it('a check with an unreadable definition hides no other states from a status page', async () => {
  const { call } = harness;
  const service = (await call('POST', '/v1/status-pages/services', { name: 'API' })).body;
  const page = await call('POST', '/v1/status-pages', {
    name: 'Shop',
    url: 'shop',
    cards: [{ name: 'Core', services: [{ id: service.id }] }],
  });
  expect(page.status).toBe(201);
  write(`update checks set definition = '{"cut' where name = 'known'`);
  const shown = await call('GET', '/v1/public/status-pages/shop', undefined, { key: null });
  expect([shown.status, shown.body.message]).toEqual([200, undefined]);
});

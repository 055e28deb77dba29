import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { httpDetail } from '../../helpers/console/http-detail.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { loggedIn, Visitor } from '../../helpers/service/visitor.ts';

const hostile = `"><svg onload=alert(1)>'`;
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let agent: TestAgent;
let runner: Visitor;
let reader: Visitor;

const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

beforeAll(async () => {
  harness = await openHarness({ clock });
  runner = await loggedIn(harness, 'READ_RUN');
  reader = await loggedIn(harness, 'READ_ONLY');
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  const fields = { frequency: 1, privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
  await createCheck(harness, { name: `first ${hostile}`, tags: ['shop', 'one'], ...fields });
  await createCheck(harness, { name: 'second', tags: ['shop'], ...fields });
  await agent.claim();
});
afterAll(() => harness.close());

describe('running checks now', () => {
  it('by tag leads to a session for each, whose state is updated', async () => {
    const csrf = await runner.csrf('/sessions');
    const both = await runner.post('/sessions', { csrf, tag: 'shop' });
    expect(both.body.match(/href="\/sessions\/checks\/[\w-]+"/g)).toHaveLength(2);
    const one = await runner.post('/sessions', { csrf, tag: 'one' });
    const path = one.headers['location'] ?? '';
    expect((await reader.get(path)).body).toMatch(
      /Waiting for an agent[\s\S]*This page updates automatically/,
    );
    expect(textOf((await reader.get(path)).body)).toMatch(/Queued .* for .* Claimed Running Finished/);
    const runs = await agent.claim();
    const running = textOf((await reader.get(path)).body);
    expect(running).toMatch(/Claimed by \S+ .* UTC • ?Running for/);
    expect(running).toContain('sends the log of an attempt with its result');
    await agent.report(
      runs.map((run) => reportOf(run, { detail: httpDetail({ text: 'a line of the log' }) })),
    );
    const { body } = await reader.get(path);
    expect(body).toMatch(/state-passed[\s\S]*Passed/);
    expect(textOf(body)).toMatch(/Ran for .* Passed/);
    expect(body).toMatch(/class="log"[\s\S]*a line of the log/);
    expect(body).toMatch(/\/checks\/[\w-]+\/runs\/[\w-]+/);
    expect(body).not.toContain('This page updates automatically');
    expect(body).not.toContain('<svg onload');
  });

  it('can be cancelled while it lasts, by users who may run', async () => {
    const csrf = await runner.csrf('/sessions');
    const one = await runner.post('/sessions', { csrf, tag: 'one' });
    const path = one.headers['location'] ?? '';
    expect((await reader.get(path)).body).not.toContain('/cancel');
    expect((await reader.post(`${path}/cancel`, { csrf: await reader.csrf() })).status).toBe(403);
    expect((await runner.post(`${path}/cancel`, {})).status).toBe(403);
    expect((await runner.post(`${path}/cancel`, { csrf })).headers['location']).toBe(path);
    expect((await runner.get(path)).body).toContain('Cancelled');
  });

  it('is not offered to readers, and needs something to run', async () => {
    expect((await reader.get('/sessions')).body).not.toContain('Run checks');
    expect((await reader.post('/sessions', { csrf: await reader.csrf(), tag: 'shop' })).status).toBe(403);
    const csrf = await runner.csrf('/sessions');
    expect((await runner.post('/sessions', { csrf })).body).toContain('No checks were run');
    expect((await runner.post('/sessions', { csrf, tag: 'nobody-has-it' })).status).toBe(404);
  });
});

describe('a run that is retried', () => {
  it('shows each attempt with its log as it arrives, and waits for the next', async () => {
    const retryStrategy = { type: 'FIXED', baseBackoffSeconds: 30, maxRetries: 1, sameRegion: true };
    const check = await createCheck(harness, {
      privateLocations: ['lab'],
      retryStrategy,
      doubleCheck: false,
    });
    const csrf = await runner.csrf('/sessions');
    const { headers } = await runner.post(`/checks/${check.id}/run`, { csrf });
    const path = headers['location'] ?? '';
    expect(path).toMatch(/^\/sessions\/checks\//);
    const failed = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED 192.0.2.7:443');
    const reportNext = async (text: string) => {
      const runs = (await agent.claim()).filter((run) => run.check.id === check.id);
      expect(runs).toHaveLength(1);
      await agent.report(runs.map((run) => reportOf(run, { failure: failed, detail: httpDetail({ text }) })));
    };
    await reportNext('log of the first');
    const waiting = textOf((await reader.get(path)).body);
    expect(waiting).toMatch(/Waiting for attempt 2, in 30 s/);
    expect(waiting).toMatch(/Attempt 1: Failed .*refused the connection.* log of the first/);
    expect(waiting).toContain('This page updates automatically');
    clock.advance(30_000);
    await reportNext('log of the second');
    const { body } = await reader.get(path);
    expect(textOf(body)).toMatch(
      /attempt 2 .* Failed .* log of the first .* Attempt 2: .* log of the second/,
    );
    expect(body).toMatch(/\/checks\/[\w-]+\/runs\/[\w-]+">Open the run/);
    expect(body).not.toContain('This page updates automatically');
  });
});

describe('test sessions', () => {
  it('of many checks have a row for each', async () => {
    const fields = { privateLocations: ['lab'], tags: ['many'] };
    for (const name of ['a', 'b', 'c', 'd']) await createCheck(harness, { name, ...fields });
    const { body: made } = await harness.call('POST', '/v1/test-sessions/trigger', {
      ...{ name: 'nightly', runLocation: 'lab', target: { matchTags: [['many']] } },
    });
    const { body } = await reader.get(`/sessions/tests/${made.testSessionId}`);
    expect(body.match(/In progress/g)).toHaveLength(4);
    expect(textOf(body)).toContain('4 unfinished');
    await runner.post(`/sessions/tests/${made.testSessionId}/cancel`, {
      csrf: await runner.csrf('/sessions'),
    });
    expect(textOf((await reader.get('/sessions?q=nightly')).body)).toContain('4 cancelled');
  });

  it('are listed and found by name, each with its checks and its origin', async () => {
    const { body: made } = await harness.call('POST', '/v1/test-sessions/trigger', {
      name: `release ${hostile}`,
      runLocation: 'lab',
      target: { matchTags: [['one']] },
      metadata: { branchName: `main ${hostile}`, commitOwner: 'ada' },
    });
    const list = await reader.get('/sessions?q=release');
    expect(list.body).toContain('release &quot;&gt;&lt;svg');
    expect((await reader.get('/sessions?q=nothing-like-it')).body).toContain(
      'No test sessions have this name',
    );
    expect((await reader.get('/sessions?q=a&after=x')).status).toBe(200);
    const path = `/sessions/tests/${made.testSessionId}`;
    const { body } = await reader.get(path);
    expect(body).toMatch(/Branch[\s\S]*main &quot;/);
    expect(body).toContain('ada');
    expect(body).toMatch(/aria-current="step"[\s\S]*Queued/);
    expect(body).toContain('This page updates automatically');
    expect(list.body + body).not.toContain('<svg onload');
    await runner.post(`${path}/cancel`, { csrf: await runner.csrf('/sessions') });
    expect((await reader.get(path)).body).toContain('Cancelled');
  });

  it('have an address with the account, as command lines print it', async () => {
    const { body } = await harness.call('GET', '/v1/accounts/me');
    const [, id = ''] = /href="\/sessions\/tests\/([\w-]+)"/.exec((await reader.get('/sessions')).body) ?? [];
    const path = `/accounts/${body.id}/test-sessions/${id}`;
    const { status, headers } = await reader.get(path);
    expect([status, headers['location']]).toEqual([303, `/sessions/tests/${id}`]);
    const nobody = await new Visitor(harness.app).get(path);
    expect(nobody.headers['location']).toBe(`/login?next=${encodeURIComponent(path)}`);
    expect((await reader.get(`/accounts/another/test-sessions/${id}`)).status).toBe(404);
  });

  it('of another account are not found', async () => {
    const { key } = await harness.addAccount();
    const stranger = await loggedIn(harness, undefined, key);
    const own = (await reader.get('/sessions')).body;
    const [, path = ''] = /href="(\/sessions\/tests\/[\w-]+)"/.exec(own) ?? [];
    expect((await stranger.get(path)).status).toBe(404);
    expect((await stranger.get('/sessions')).body).not.toContain(path);
  });
});

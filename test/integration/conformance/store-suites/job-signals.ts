import { expect, it } from 'vitest';
import { until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const second = 1000;
const minute = 60 * second;
const limits = { period: 1, periodUnit: 'hours', grace: 10, graceUnit: 'minutes' };
const runs = ['5b9e2f3c-0d11-4c5e-9d7b-0f3a4f1f0a01', '5b9e2f3c-0d11-4c5e-9d7b-0f3a4f1f0a02'] as const;

/** Signals of jobs: starts, ends with exit codes, messages, and bodies. */
export function jobSignalSuite(stage: StoreStage): void {
  const create = async ({
    heartbeat = {},
    ...fields
  }: {
    heartbeat?: object;
    [field: string]: unknown;
  } = {}) => {
    const body = { name: 'backup', heartbeat: { ...limits, ...heartbeat }, ...fields };
    const answer = await stage.harness.call('POST', '/v1/checks/heartbeat', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body as { id: string; heartbeat: { pingUrl: string } };
  };
  type Made = Awaited<ReturnType<typeof create>>;
  const ping = async (check: Made, ending = '', body?: unknown) => {
    // Events in the same millisecond have no order.
    stage.clock.advance(second);
    const headers = { 'content-type': 'text/plain' };
    const method = body === undefined ? 'GET' : 'POST';
    return stage.harness.call(method, `${check.heartbeat.pingUrl}${ending}`, body, { key: null, headers });
  };
  const events = async ({ id }: Made) =>
    (await stage.harness.call('GET', `/v1/checks/heartbeats/${id}/events`)).body[0].events;
  const states = async (check: Made) => (await events(check)).map(({ state }: { state: string }) => state);
  const newest = async (check: Made) => {
    const [event] = await events(check);
    const path = `/v1/checks/heartbeats/${check.id}/events/${event.id}`;
    return (await stage.harness.call('GET', path)).body.event;
  };
  const results = async ({ id }: Made) => (await stage.harness.call('GET', `/v1/check-results/${id}`)).body;
  const openRuns = async ({ id }: Made) =>
    (await stage.harness.call('GET', `/v1/checks/heartbeats/${id}/runs`)).body;

  it('times a run from its start to its end, and tells runs of one job apart', async () => {
    await stage.start();
    const check = await create({ degradedResponseTime: 5 * minute, maxResponseTime: 30 * minute });
    const [one, other] = runs;
    expect((await ping(check, `/start?rid=${one}`)).body).toEqual({});
    stage.clock.advance(3 * minute);
    await ping(check, `/start?rid=${other.toUpperCase()}`);
    expect(await newest(check)).toMatchObject({
      state: 'STARTED',
      signal: 'start',
      runId: other,
      otherRuns: 1,
    });
    expect(await openRuns(check)).toMatchObject([{ runId: one }, { runId: other }]);
    // Starts are no results: nothing has passed or failed yet.
    expect(await results(check)).toEqual([]);
    stage.clock.advance(minute);
    await ping(check, `/0?rid=${other}`);
    expect((await results(check))[0]).toMatchObject({
      responseTime: 61 * second,
      hasFailures: false,
      isDegraded: false,
      heartbeatCheckResult: { signal: 'exit', exitCode: 0, runId: other, durationMs: 61 * second },
    });
    stage.clock.advance(5 * minute);
    await ping(check, `?rid=${one}`);
    const [slow] = await results(check);
    expect(slow).toMatchObject({ hasFailures: false, isDegraded: true, overMaxResponseTime: false });
    expect(Date.parse(slow.stoppedAt) - Date.parse(slow.startedAt)).toBe(slow.responseTime);
    expect(await openRuns(check)).toEqual([]);
    // An end without a start has no duration, and is not judged by one.
    await ping(check);
    expect((await results(check))[0]).toMatchObject({ responseTime: 0, isDegraded: null });
    const status = (await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body;
    expect(status).toMatchObject({ shortestRun: 61 * second, longestRun: slow.responseTime });
    expect(await states(check)).toEqual(['EARLY', 'EARLY', 'EARLY', 'STARTED', 'STARTED']);
    const analytics = await stage.harness.call(
      'GET',
      `/v1/analytics/heartbeat-checks/${check.id}?metrics=responseTime_max,availability`,
    );
    expect(analytics.body.series[0].data[0]).toMatchObject({
      responseTime_max: slow.responseTime,
      availability: 100,
    });
  });

  it('fails a run that takes too long, at its limit and again at its end', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    await until('this process leads', () => stage.harness.store.isLeader());
    const check = await create({ maxResponseTime: 5 * minute });
    await ping(check, '/start');
    const [{ startedAt, mustEndBy }] = await openRuns(check);
    expect(Date.parse(mustEndBy) - Date.parse(startedAt)).toBe(5 * minute);
    stage.clock.advance(5 * minute - second);
    expect(await states(check)).toEqual(['STARTED']);
    await stage.advanceUntil('the run has failed', async () => (await states(check)).length === 2);
    expect((await results(check))[0]).toMatchObject({
      failure: { owner: 'target', code: 'JOB_UNFINISHED' },
      heartbeatCheckResult: { state: 'FAILING', signal: null },
    });
    expect(await openRuns(check)).toMatchObject([{ startedAt, mustEndBy: null }]);
    await ping(check, '/0');
    expect((await results(check))[0]).toMatchObject({
      overMaxResponseTime: true,
      failure: { code: 'MAX_RESPONSE_TIME_EXCEEDED' },
    });
    await ping(check, '/start');
    await ping(check, '/0');
    const status = (await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body;
    expect(status.hasFailures).toBe(false);
  });

  it('gives a job that starts in time the time to end', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    await until('this process leads', () => stage.harness.store.isLeader());
    const check = await create({ maxResponseTime: 40 * minute });
    await ping(check);
    const timer = async () =>
      (await stage.harness.store.heartbeats.find(check.id)) as never as Record<string, number>;
    const expectedAt = (await timer())['expected_at'] ?? 0;
    stage.clock.advance(65 * minute);
    await ping(check, `/start?rid=${runs[0]}`);
    const startedAt = stage.clock.wallMs();
    expect((await timer())['deadline_at']).toBe(startedAt + 40 * minute);
    // A job that starts again and again, and never ends, is missed all the same.
    stage.clock.advance(20 * minute);
    await ping(check, `/start?rid=${runs[1]}`);
    expect((await timer())['deadline_at']).toBe(expectedAt + 50 * minute);
  });

  it('fails at once when the job says so', async () => {
    await stage.start();
    const check = await create();
    for (const [ending, code, message] of [
      ['/fail', 'JOB_FAILED', 'The job reported that it failed.'],
      ['/fail?msg=disk%20full', 'JOB_FAILED', 'The job reported that it failed: disk full'],
      ['/3', 'JOB_FAILED', 'The job ended with exit code 3.'],
      ['?status=down&msg=no', 'JOB_FAILED', 'The job reported that it failed: no'],
    ] as const) {
      await ping(check, ending);
      expect((await results(check))[0]).toMatchObject({ hasFailures: true, failure: { code, message } });
    }
    expect(new Set(await states(check))).toEqual(new Set(['FAILING']));
  });

  it('takes the duration that Uptime Kuma’s clients send, and refuses what it cannot use', async () => {
    await stage.start();
    const check = await create({ maxResponseTime: 1000 });
    await ping(check, '?status=up&msg=OK&ping=');
    expect((await results(check))[0]).toMatchObject({ responseTime: 0, hasFailures: false });
    expect((await ping(check, '?status=up&msg=OK&ping=1200.5')).status).toBe(200);
    expect((await results(check))[0]).toMatchObject({ responseTime: 1200.5, overMaxResponseTime: true });
    for (const [ending, key] of [
      ['?ping=soon', 'ping'],
      ['?ping=-1', 'ping'],
      ['?rid=1', 'rid'],
      ['/256', 'signal'],
      ['/007', 'signal'],
      ['/stop', 'signal'],
      ['/start?status=down', 'status'],
    ]) {
      const { status, body } = await ping(check, ending);
      expect([ending, status, body.validation?.keys]).toEqual([ending, 400, [key]]);
    }
    expect((await events(check)).length).toBe(2);
  });

  it('keeps the body of a ping without secrets, and only its beginning', async () => {
    await stage.start();
    const { call } = stage.harness;
    const secret = 'q7Vw-2kPz-9LmX';
    expect(
      (await call('POST', '/v1/variables', { key: 'DB_PASSWORD', value: secret, secret: true })).status,
    ).toBe(201);
    const check = await create();
    const text = `dumping to https://backup:hunter22@db.test/\n\u0000login ${secret}\nAuthorization: Bearer abcdef0123456789\ndone ✓`;
    await ping(check, '/log', text);
    const logged = await newest(check);
    expect(logged).toMatchObject({ state: 'LOGGED', signal: 'log', isBodyCut: false });
    expect(logged.body).toMatch(/^dumping to https:\/\/.+@db\.test\/\nlogin \S+\nAuthorization: .+\ndone ✓$/);
    for (const hidden of [secret, 'hunter22', 'abcdef0123456789']) expect(logged.body).not.toContain(hidden);
    // The cut is within a character, and within the secret.
    await ping(check, '/1?msg=wrong%20password%20q7Vw-2kPz-9LmX', `${'é'.repeat(4_995)}x${secret}`);
    const [result] = await results(check);
    expect(JSON.stringify(result)).not.toContain('q7Vw-2kPz');
    expect(result.heartbeatCheckResult.isBodyCut).toBe(true);
    expect(result.heartbeatCheckResult.body.startsWith(`${'é'.repeat(4_995)}x`)).toBe(true);
    expect(await newest(check)).toMatchObject({ isBodyCut: true, body: result.heartbeatCheckResult.body });
    await ping(check, '', '😀'.repeat(3_000));
    expect((await newest(check)).body).toBe('😀'.repeat(2_500));
  });

  it('reads the outcome in the body of a ping by POST', async () => {
    await stage.start();
    const heartbeat = {
      failureKeywords: ['FAILED', 'error:'],
      successKeywords: ['OK'],
      startKeywords: ['begin'],
    };
    const check = await create({ heartbeat });
    for (const [body, state] of [
      ['begin', 'STARTED'],
      ['OK, but FAILED', 'FAILING'],
      ['OK', 'EARLY'],
      ['ok', 'LOGGED'],
    ] as const) {
      await ping(check, '', body);
      expect([body, (await states(check))[0]]).toEqual([body, state]);
    }
    // The URL outweighs the body.
    await ping(check, '/0', 'FAILED');
    await ping(check, '?status=up', 'FAILED');
    expect((await states(check)).slice(0, 2)).toEqual(['EARLY', 'EARLY']);
  });

  it('forgets runs in progress with the check’s deactivation, and the oldest of too many', async () => {
    await stage.start();
    const check = await create();
    const id = (count: number) => `5b9e2f3c-0d11-4c5e-9d7b-${String(count).padStart(12, '0')}`;
    for (let count = 0; count < 53; count += 1) await ping(check, `/start?rid=${id(count)}`);
    const open = await openRuns(check);
    expect([open.length, open[0].runId]).toEqual([50, id(3)]);
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: false });
    await ping(check, '/start');
    expect(await openRuns(check)).toEqual([]);
  });
}

import { expect, it } from 'vitest';
import { until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const second = 1000;
const minute = 60 * second;
const limits = { period: 5, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };

/**
 * Heartbeats: pings from outside, the timer that detects their absence, and the effects of both on the rest of the
 * service.
 */
export function heartbeatSuite(stage: StoreStage): void {
  const create = async (fields: object = {}) => {
    const answer = await stage.harness.call('POST', '/v1/checks/heartbeat', {
      name: 'nightly',
      heartbeat: limits,
      ...fields,
    });
    expect(answer.status).toBe(201);
    return answer.body as { id: string; heartbeat: { pingUrl: string; pingToken: string } };
  };
  const ping = (check: { heartbeat: { pingUrl: string } }, method = 'GET', headers = {}) =>
    stage.harness.call(method, check.heartbeat.pingUrl, undefined, { key: null, headers });
  const events = async (checkId: string, key = stage.harness.key) => {
    const path = `/v1/checks/heartbeats/${checkId}/events`;
    const answer = await stage.harness.call('GET', path, undefined, { key });
    return answer.body[0].events as { id: string; state: string; source: string; userAgent: string }[];
  };
  const states = async (checkId: string, key?: string) =>
    (await events(checkId, key)).map(({ state }) => state);
  /** Lets time pass realistically: the watch runs every few seconds. */
  const pass = async (ms: number) => {
    const { clock } = stage;
    const { heartbeats } = stage.harness.store;
    await until('this process leads', () => stage.harness.store.isLeader());
    const endAt = clock.wallMs() + ms;
    let watchedAt = clock.wallMs();
    while (clock.wallMs() < endAt) {
      // A watch that falls asleep after time has advanced would sleep past the look that is awaited below.
      await until('the watch sleeps', () => clock.sleeperCount > 0);
      clock.advance(Math.min(endAt - clock.wallMs(), 2 * second));
      if ((await heartbeats.nextDeadline()) === null) watchedAt = clock.wallMs();
      await until('the watch has looked', async () => {
        const lookedAt = (await heartbeats.lookedAt()) ?? 0;
        return clock.wallMs() - Math.max(watchedAt, lookedAt) <= 15 * second;
      });
    }
  };

  it('counts a ping that reports a failed job as a failure, with its message', async () => {
    await stage.start();
    const check = await create();
    const address = check.heartbeat.pingUrl;
    const pingWith = (query: string) => ping({ heartbeat: { pingUrl: `${address}${query}` } });
    expect((await pingWith('?status=up&msg=OK&ping=12')).status).toBe(200);
    // Events in the same millisecond have no order.
    stage.clock.advance(second);
    expect((await pingWith('?status=Down&msg=disk%20full')).body).toEqual({});
    expect(await states(check.id)).toEqual(['FAILING', 'RECEIVED']);
    const status = async () => (await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body;
    expect(await status()).toMatchObject({ hasFailures: true });
    const results = await stage.harness.call('GET', `/v1/check-results/${check.id}`);
    expect(JSON.stringify(results.body)).toContain('The job reported that it failed: disk full');
    expect((await pingWith('?status=sideways')).body.validation.keys).toEqual(['status']);
    // Shells and people may write tokens in capitals.
    const capitals = address.replace(/[^/]+$/, (token) => token.toUpperCase());
    expect((await ping({ heartbeat: { pingUrl: capitals } })).status).toBe(200);
    expect(await status()).toMatchObject({ hasFailures: false });
  });

  it('accepts pings and shows their times', async () => {
    await stage.start();
    const check = await create();
    expect((await ping(check, 'GET', { 'user-agent': 'curl/8.5.0' })).body).toEqual({});
    stage.clock.advance(4 * minute);
    await ping(check, 'POST');
    stage.clock.advance(5 * minute + 4 * second);
    await ping(check, 'HEAD', { referer: 'https://jobs.test/nightly' });
    stage.clock.advance(5 * minute + 50 * second);
    await ping(check);
    stage.clock.advance(6 * minute + second);
    expect((await ping(check)).status).toBe(200);
    expect(await states(check.id)).toEqual(['LATE', 'GRACE', 'RECEIVED', 'EARLY', 'RECEIVED']);
    const [, , third, , first] = await events(check.id);
    expect(first).toMatchObject({ source: 'HTTP GET from curl', userAgent: 'curl/8.5.0' });
    expect(third?.source).toBe('HTTP HEAD from https://jobs.test/nightly');
    const one = await stage.harness.call('GET', `/v1/checks/heartbeats/${check.id}/events/${first?.id}`);
    expect(one.body.event).toEqual(first);
    expect(one.body.stats.last24Hours).toEqual({
      successRatio: { previousPeriod: null, currentPeriod: 100 },
      totalEntitiesCurrentPeriod: 5,
    });
    // Each is also recorded in the ledger, and none was ever available to lease.
    expect(await stage.harness.store.runs.countSlots(check.id)).toEqual({ final: 5 });
    expect(await stage.agent.claim({ checkTypes: ['HEARTBEAT'] })).toEqual([]);
    const status = await stage.harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(status.body).toMatchObject({ hasFailures: false, longestRun: null });
  });

  it('records a missed ping once, again after another period, and recovers with the next ping', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    const check = await create();
    // Nothing is expected before the first ping.
    await pass(20 * minute);
    expect(await states(check.id)).toEqual([]);
    await ping(check);
    await pass(6 * minute - 10 * second);
    expect(await states(check.id)).toEqual(['RECEIVED']);
    await pass(40 * second);
    expect(await states(check.id)).toEqual(['FAILING', 'RECEIVED']);
    const failing = await stage.harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(failing.body).toMatchObject({ hasFailures: true, hasErrors: false });
    const [result] = (await stage.harness.call('GET', `/v1/check-results/${check.id}?hasFailures=true`)).body;
    expect(result).toMatchObject({
      resultType: 'FINAL',
      failure: { owner: 'target', code: 'PING_MISSED' },
      checkType: 'HEARTBEAT',
      apiCheckResult: null,
      heartbeatCheckResult: { state: 'FAILING' },
    });
    const group = await stage.harness.call('GET', `/v1/error-groups/${result.errorGroupIds[0]}`);
    expect(group.body).toMatchObject({ checkId: check.id, count: 1 });
    await pass(6 * minute + 40 * second);
    expect(await states(check.id)).toEqual(['FAILING', 'FAILING', 'RECEIVED']);
    await ping(check);
    const healthy = await stage.harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(healthy.body.hasFailures).toBe(false);
    const availability = await stage.harness.call('GET', `/v1/checks/heartbeats/${check.id}/availability`);
    expect(availability.body).toEqual({ successRatio: 50, totalEntitiesCurrentPeriod: 4 });
  });

  it('continues after a restart, and ignores pings that were due during the downtime', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    const [short, long] = [
      await create(),
      await create({ heartbeat: { ...limits, period: 10, periodUnit: 'hours' } }),
    ];
    await ping(short);
    await ping(long);
    await pass(10 * second);
    const { key } = stage.harness;
    await stage.harness.close();
    stage.open.splice(0);
    stage.clock.advance(3 * 60 * minute);
    stage.harness = await stage.openHere();
    stage.harness.startHeartbeatWatch();
    await pass(10 * second);
    expect(await states(short.id, key)).toEqual(['RECEIVED']);
    // The schedule continues: five minutes after the ping that would have been due, and a minute of grace.
    await pass(7 * minute);
    expect(await states(short.id, key)).toEqual(['FAILING', 'RECEIVED']);
    // The other one was not due meanwhile and stays unchanged.
    const timer = await stage.harness.store.heartbeats.find(long.id);
    expect((timer?.deadline_at ?? 0) - (timer?.last_at ?? 0)).toBe(10 * 60 * minute + minute);
    expect(await states(long.id, key)).toEqual(['RECEIVED']);
  });

  it('forgets its last ping when it is deactivated and activated, and accepts none meanwhile', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    const check = await create();
    await ping(check);
    const { heartbeat } = (
      await stage.harness.call('PUT', `/v1/checks/heartbeat/${check.id}`, { activated: false })
    ).body;
    expect(heartbeat).toEqual(check.heartbeat);
    await pass(30 * minute);
    expect((await ping(check)).status).toBe(200);
    expect(await states(check.id)).toEqual(['RECEIVED']);
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: true });
    await pass(30 * minute);
    expect(await states(check.id)).toEqual(['RECEIVED']);
    await ping(check);
    expect(await states(check.id)).toEqual(['RECEIVED', 'RECEIVED']);
  });

  it('does the same with its group, and accepts no ping in a deactivated group', async () => {
    await stage.start();
    stage.harness.startHeartbeatWatch();
    const { call } = stage.harness;
    const { body: group } = await call('POST', '/v1/check-groups', { name: 'nights' });
    const switchTo = async (activated: boolean) =>
      expect((await call('PUT', `/v1/check-groups/${group.id}`, { activated })).status).toBe(200);
    const check = await create({ groupId: group.id });
    await ping(check);
    await switchTo(false);
    const later = await create({ groupId: group.id });
    await pass(12 * minute);
    await ping(check);
    await ping(later);
    expect([await states(check.id), await states(later.id)]).toEqual([['RECEIVED'], []]);
    await switchTo(true);
    await pass(12 * minute);
    expect([await states(check.id), await states(later.id)]).toEqual([['RECEIVED'], []]);
    await ping(later);
    expect(await states(later.id)).toEqual(['RECEIVED']);
  });

  it('creates a new URL on demand, refuses a token that is taken, and forgets deleted monitors', async () => {
    await stage.start();
    const check = await create();
    const taken = await stage.harness.call('POST', '/v1/checks/heartbeat', {
      name: 'thief',
      heartbeat: { ...limits, pingToken: check.heartbeat.pingToken.toUpperCase() },
    });
    expect(taken.status).toBe(409);
    const { body } = await stage.harness.call('PUT', `/v1/checks/${check.id}`, {
      heartbeat: { pingToken: null },
    });
    expect(body.heartbeat).toMatchObject(limits);
    expect(body.heartbeat.pingToken).not.toBe(check.heartbeat.pingToken);
    expect((await ping(check)).status).toBe(404);
    expect((await ping(body)).status).toBe(200);
    expect((await ping(body)).status).toBe(200);
    await stage.harness.call('DELETE', `/v1/checks/${check.id}`);
    expect((await ping(body)).status).toBe(404);
    stage.harness.startLeaseSweep();
    await stage.advanceUntil(
      'the events are gone',
      async () => (await stage.harness.store.heartbeats.countEvents(check.id, 0, 1e15)).total === 0,
    );
  });
}

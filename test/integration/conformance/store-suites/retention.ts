import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { createCheck, metricsToken, reportOf, until } from '../../../helpers/service/service.ts';
import { resultRow } from './result-samples.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Retention periods, and queue metrics. */
export function retentionSuite(stage: StoreStage): void {
  const numbersOf = async (checkId: string, from: number) => {
    const query = `from=${new Date(from).toISOString()}&metrics=responseTime_sum,availability`;
    const { body } = await stage.harness.call('GET', `/v1/analytics/url-monitors/${checkId}?${query}`);
    return body.series[0].data;
  };

  /** Retention of a service that was never down. */
  const startRetention = async () => {
    await stage.harness.store.retired.setTrustedUntil(stage.clock.wallMs(), 0);
    stage.harness.startRetention();
  };

  it('removes old results, keeps their analytics longer, and leaves other data unchanged', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const { store, accountId } = harness;
    const checkId = (await createCheck(harness)).id;
    const now = clock.wallMs();
    // Enough for more than one DELETE statement, and more than one chunk.
    const old = Array.from({ length: 1200 }, (_none, index) =>
      resultRow(checkId, accountId, now - 40 * dayMs + index, { responseTime: 2 }),
    );
    const older = resultRow(checkId, accountId, now - 90 * dayMs, { responseTime: 1000 });
    const young = resultRow(checkId, accountId, now - dayMs, { responseTime: 3 });
    await store.results.insert([older, ...old, young]);
    const before = await numbersOf(checkId, now - 50 * dayMs);
    expect(before).toEqual([{ responseTime_sum: 2403, availability: 100 }]);
    harness.startRetention();
    await until('only the young result is left', async () => {
      clock.advance(20);
      return (await store.retired.dueResults([[checkId, now + dayMs]], 10)).length === 1;
    });
    expect(await store.results.find(checkId, young.id)).toBeDefined();
    await until('the oldest numbers are gone', async () => {
      clock.advance(1000);
      return (await numbersOf(checkId, now - 100 * dayMs))[0].responseTime_sum === 2403;
    });
    expect(await numbersOf(checkId, now - 50 * dayMs)).toEqual(before);
  });

  it('removes the records of old runs and fenced results, but never pending ones', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const checkId = (await createCheck(harness, fields)).id;
    await stage.queueNextSlot(checkId);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run)]);
    const wrongLease = { ...reportOf(run), leaseNumber: 1 };
    expect(await stage.agent.report([wrongLease])).toEqual(['duplicate']);
    await harness.call('PUT', `/v1/checks/${checkId}`, { activated: false });
    expect((await stage.runsOf(checkId)).map(({ state }) => state)).toContain('final');
    clock.advance(32 * dayMs);
    await startRetention();
    await stage.advanceUntil('the runs are gone', async () => (await stage.runsOf(checkId)).length === 0);
    const { body } = await harness.call('GET', `/v1/check-results/${checkId}?from=0&to=4000000000`);
    await stage.advanceUntil('the results are gone', async () => {
      const listed = await harness.call('GET', `/v1/check-results/${checkId}?from=0&to=4000000000`);
      return listed.body.length === 0;
    });
    expect(body.length).toBeLessThanOrEqual(1);
  });

  it('removes old sessions with their results, events of heartbeats, and alerts except those of certificates', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const { store, accountId } = harness;
    const call = (method: string, path: string, body?: unknown) => harness.call(method, `/v1/${path}`, body);
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false };
    const checkId = (await createCheck(harness, fields)).id;
    const heartbeat = { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'days' };
    const nightly = (await call('POST', 'checks/heartbeat', { name: 'nightly', heartbeat })).body;
    const leave = async () => {
      await agent.claim();
      const tried = await call('POST', 'test-sessions/trigger', {
        name: 'try',
        runLocation: 'lab',
        target: { checkId },
      });
      const asked = await call('POST', 'check-sessions/trigger', { target: { checkId } });
      for (const run of await agent.claim()) await agent.report([reportOf(run)]);
      await harness.call('GET', nightly.heartbeat.pingUrl, undefined, { key: null });
      const alert = (type: string) => ({
        id: `${type} ${clock.wallMs()}`,
        account_id: accountId,
        check_id: checkId,
        alert_type: type,
        notice: 'failure',
        result_id: null,
        facts: '{}',
        created: clock.wallMs(),
      });
      await store.alerts.insert([alert('ALERT_FAILURE'), alert('ALERT_SSL')] as never);
      return [
        `test-sessions/${tried.body.testSessionId}`,
        `check-sessions/${asked.body.sessions[0].checkSessionId}`,
      ] as const;
    };
    const old = await leave();
    clock.advance(25 * dayMs);
    const young = await leave();
    clock.advance(7 * dayMs);
    const statuses = async (paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await call('GET', path)).status));
    const kept = async () => ({
      results: (await store.testSessions.results(old[0].slice('test-sessions/'.length))).length,
      events: (await store.heartbeats.countEvents(nightly.id, 0, clock.wallMs() + 1)).total,
      alerts: (
        await store.alerts.list({ accountId, from: 0, to: clock.wallMs() }, { limit: 10, offset: 0 })
      ).alerts.map(({ alert_type: type }) => type),
    });
    expect(await statuses([...old, ...young])).toEqual([200, 200, 200, 200]);
    expect(await kept()).toMatchObject({ results: 1, events: 2 });
    await startRetention();
    await stage.advanceUntil('the old sessions are gone', async () =>
      (await statuses(old)).every((status) => status === 404),
    );
    await stage.advanceUntil('the old event is gone', async () => (await kept()).events === 1);
    expect(await statuses(young)).toEqual([200, 200]);
    const left = await kept();
    expect(left.results).toBe(0);
    expect(left.alerts.sort()).toEqual(['ALERT_FAILURE', 'ALERT_SSL', 'ALERT_SSL']);
  });

  it('removes error groups that do not recur, except permanently archived ones', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false, frequency: 1440 };
    const checkId = (await createCheck(harness, fields)).id;
    const failWith = async (...errorMessages: string[]) => {
      await agent.claim();
      await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId } });
      const [run] = await agent.claim();
      if (!run) throw new Error('nothing was leased');
      const down = failure('CONNECTION_REFUSED', 'down');
      await agent.report([reportOf(run, { failure: down, errorMessages })]);
      const { body } = await harness.call('GET', `/v1/check-results/${checkId}/${run.resultId}`);
      const groups = await Promise.all(
        (body.errorGroupIds as string[]).map(
          async (id) => (await harness.call('GET', `/v1/error-groups/${id}`)).body,
        ),
      );
      return errorMessages.map((text) => groups.find(({ rawErrorMessage }) => rawErrorMessage === text)?.id);
    };
    const texts = ['the disk is full', 'getaddrinfo ENOTFOUND api.test', 'Unexpected status 503'];
    const [gone = '', back = '', archived = ''] = await failWith(...texts);
    await harness.call('PATCH', `/v1/error-groups/${archived}`, { archiveForEver: true });
    clock.advance(20 * dayMs);
    expect(await failWith(texts[1] ?? '')).toEqual([back]);
    clock.advance(15 * dayMs);
    await startRetention();
    const status = async (id: string) => (await harness.call('GET', `/v1/error-groups/${id}`)).status;
    await stage.advanceUntil('the old group is gone', async () => (await status(gone)) === 404);
    expect([await status(back), await status(archived)]).toEqual([200, 200]);
    // The recurring error creates a new group; the permanently archived one stays archived.
    const [again, , stays] = await failWith(...texts);
    expect(again).not.toBe(gone);
    expect(stays).toBe(archived);
  });

  it('shows how long the queue of a location was, minute by minute', async () => {
    await stage.start();
    const { harness, clock, location } = stage;
    clock.advance(minuteMs - (clock.wallMs() % minuteMs) + 1000);
    const start = clock.wallMs();
    const path = `/v1/private-locations/${location.id}/metrics`;
    const ask = async (from: number, to: number) => harness.call('GET', `${path}?from=${from}&to=${to}`);
    await startRetention();
    const points = async () => (await ask(start - minuteMs, start + dayMs)).body.timestamps.length;
    await stage.advanceUntil('the first minute', async () => (await points()) === 1);
    const checkId = (await createCheck(harness, { privateLocations: ['lab'], frequency: 30 })).id;
    await stage.queueNextSlot(checkId);
    const [queued] = await stage.runsOf(checkId);
    const before = await points();
    await until('two more minutes', async () => {
      clock.advance(5_000);
      return (await points()) >= before + 2;
    });
    const { body } = await ask(start - minuteMs, start + dayMs);
    expect(body.timestamps.every((at: string) => Date.parse(at) % minuteMs === 0)).toBe(true);
    expect(body.queueSize[0]).toBe(0);
    expect(body.oldestScheduledCheckRun[0]).toBe(0);
    expect(body.queueSize.at(-1)).toBe(1);
    const waited = (Date.parse(body.timestamps.at(-1)) - Number(queued?.ready_at)) / 1000;
    expect(body.oldestScheduledCheckRun.at(-1)).toBeGreaterThan(waited - 1);
    const tooOld = await ask(Math.floor((clock.wallMs() - 15 * dayMs) / 1000), clock.wallMs());
    expect([tooOld.status, tooOld.body.validation.keys]).toEqual([400, ['from']]);
    const missing = await harness.call('GET', path);
    expect(missing.body.validation.keys).toEqual(['from', 'to']);
    const other = await harness.addAccount();
    const foreign = await harness.call('GET', `${path}?from=${start}&to=${start}`, undefined, {
      key: other.key,
    });
    expect(foreign.status).toBe(404);
  });

  it('exports waiting, running and missed runs to Prometheus, each account its own', async () => {
    await stage.start();
    const { harness, clock, agent } = stage;
    const other = await harness.addAccount();
    const fields = { privateLocations: ['lab'], retryStrategy: null, doubleCheck: false, frequency: 30 };
    // Far apart, so that no slot becomes due while the metrics are read.
    for (const frequencyOffset of [1, 151]) {
      await stage.queueNextSlot((await createCheck(harness, { ...fields, frequencyOffset })).id);
    }
    const scrape = async (key: string | null = harness.key) =>
      harness.call('GET', '/metrics', undefined, { key });
    const value = async (name: string, labels = '', key = harness.key) => {
      const { body } = await scrape(key);
      const line = String(body)
        .split('\n')
        .find((one) => one.startsWith(`${name}{`) && one.includes(labels));
      return line === undefined ? null : Number(line.split(' ').at(-1));
    };
    const queued = await value('picket_location_queued_runs', 'lane="probe"');
    expect(queued).toBeGreaterThanOrEqual(2);
    expect(await value('picket_location_queued_runs', 'lane="script"')).toBe(0);
    clock.advance(7_000);
    expect(
      await value('picket_location_oldest_queued_run_age_seconds', 'lane="probe"'),
    ).toBeGreaterThanOrEqual(7);
    const [run] = await agent.claim({ freeSlots: { probe: 1 } });
    expect(await value('picket_location_in_flight_runs', 'lane="probe"')).toBe(1);
    expect(await value('picket_location_queued_runs', 'lane="probe"')).toBe((queued ?? 0) - 1);
    expect(await value('picket_location_unfinished_runs', 'lane="probe"')).toBe(queued);
    expect(await value('picket_location_agents', 'location="lab"')).toBe(1);
    if (!run) throw new Error('nothing was leased');
    await agent.report([reportOf(run)]);
    expect(await value('picket_results_total', 'verdict="passed"')).toBe(1);
    expect(await value('picket_results_total', 'verdict="passed"', metricsToken)).toBe(1);
    expect(await value('picket_results_total', 'verdict="passed"', other.key)).toBeNull();
    expect(await value('picket_location_queued_runs', '', other.key)).toBeNull();
    harness.startLeaseSweep();
    await until('a run was missed', async () => {
      clock.advance(5_000);
      return ((await value('picket_missed_slots_total', 'location="lab"')) ?? 0) > 0;
    });
    expect((await scrape(null)).status).toBe(401);
    expect((await scrape('metrics-token-of-others')).status).toBe(401);
    const foreign = await harness.call('GET', '/metrics', undefined, {
      headers: { 'x-service-account': other.accountId },
    });
    expect(foreign.status).toBe(403);
  });
}

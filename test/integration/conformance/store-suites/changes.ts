import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import { notPlanned } from '../../../../src/service/checks/timing/slot-state.ts';
import { ManualClock } from '../../../helpers/manual-clock.ts';
import { createCheck, createLocation, reportOf, TestAgent } from '../../../helpers/service/service.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

const minuteMs = 60_000;
const down = failure('CONNECTION_REFUSED', 'connect ECONNREFUSED');

/** Consistency when checks, clocks and builds change at runtime. */
export function changeSuite(stage: StoreStage): void {
  const stored = async (id: string) => stage.harness.store.checks.find(stage.harness.accountId, id);

  it.each<[string, Record<string, unknown>, string[]]>([
    ['another schedule', { frequency: 5 }, ['missed', 'queued']],
    ['being switched off', { activated: false }, ['missed', 'cancelled']],
  ])('keeps the slots that were due before %s', async (_what, change, states) => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    const firstSlotAt = (await stored(check.id))?.slots.nextSlotAt ?? 0;
    stage.clock.advance(firstSlotAt - stage.clock.wallMs() + 3 * minuteMs + 10);
    expect((await stage.harness.call('PUT', `/v1/checks/${check.id}`, change)).status).toBe(200);
    const runs = await stage.runsOf(check.id);
    expect(runs.map(({ state, slot_at, slot_count }) => [state, slot_at, slot_count])).toEqual([
      [states[0], firstSlotAt, 3],
      [states[1], firstSlotAt + 3 * minuteMs, 1],
    ]);
    const next = (await stored(check.id))?.slots.nextSlotAt;
    if (change.activated === false) expect(next).toBeNull();
    else expect(next).toBeGreaterThan(stage.clock.wallMs());
    stage.harness.startScheduler();
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { activated: true, name: 'again' });
    expect(await stage.runsOf(check.id)).toHaveLength(2);
  });

  it('continues when a clock that was ahead is corrected', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], doubleCheck: false });
    const rightMs = stage.clock.wallMs();
    stage.clock.advance(30 * 86_400_000);
    await stage.queueNextSlot(check.id);
    const [early] = await stage.agent.claim();
    if (!early) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(early, { failure: down })]);
    await stage.harness.close();
    stage.open.pop();
    stage.clock = new ManualClock(rightMs);
    const { key } = stage.harness;
    stage.harness = await stage.openHere();
    stage.agent = new TestAgent(stage.harness, stage.location);
    stage.harness.startScheduler();
    const status = () => stage.harness.call('GET', `/v1/check-statuses/${check.id}`, undefined, { key });
    expect((await status()).body.hasFailures).toBe(true);
    const run = await stage.advanceUntil('a run of today', async () => {
      stage.clock.advance(1000);
      return (await stage.agent.claim())[0];
    });
    expect(run.slotAt).toBeLessThan(rightMs + 2 * minuteMs);
    expect(await stage.agent.report([reportOf(run)])).toEqual(['accepted']);
    expect((await status()).body.hasFailures).toBe(false);
  });

  it('notices at work that the clock was set back', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    stage.harness.startScheduler();
    await stage.queueNextSlot(check.id);
    const row = await stored(check.id);
    if (!row) throw new Error('the check is gone');
    await stage.harness.store.checks.setNextSlots([[check.id, stage.clock.wallMs() + 400 * minuteMs]]);
    await stage.advanceUntil('the slot is near again', async () => {
      stage.clock.advance(1000);
      return ((await stored(check.id))?.slots.nextSlotAt ?? Infinity) <= stage.clock.wallMs() + minuteMs;
    });
  });

  it('is failing as long as one of several parallel locations is', async () => {
    await stage.start();
    const other = await createLocation(stage.harness, 'other');
    const there = new TestAgent(stage.harness, other, 'agent-there');
    const check = await createCheck(stage.harness, {
      privateLocations: ['lab', 'other'],
      runParallel: true,
      doubleCheck: false,
    });
    const isFailing = async () =>
      (await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures;
    const claimBoth = async () => {
      await stage.queueNextSlot(check.id, 2);
      const [[here], [elsewhere]] = [await stage.agent.claim(), await there.claim()];
      if (!here || !elsewhere) throw new Error('not both were leased');
      return { here, elsewhere };
    };
    const first = await claimBoth();
    const second = await claimBoth();
    await there.report([reportOf(first.elsewhere, { failure: down })]);
    await stage.agent.report([reportOf(first.here)]);
    expect(await isFailing()).toBe(true);
    // A newer slot at one location does not affect the other location.
    await stage.agent.report([reportOf(second.here)]);
    expect(await isFailing()).toBe(true);
    await there.report([reportOf(second.elsewhere)]);
    expect(await isFailing()).toBe(false);
    const third = await claimBoth();
    await there.report([reportOf(third.elsewhere, { failure: down })]);
    await stage.agent.report([reportOf(third.here)]);
    expect(await isFailing()).toBe(true);
    // A location that the check has left no longer counts.
    await stage.harness.call('PUT', `/v1/checks/${check.id}`, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [last] = await stage.agent.claim();
    if (!last) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(last)]);
    expect(await isFailing()).toBe(false);
  });

  it('shows checks that an older build stored, and lists the others next to an unreadable one', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const whole = await createCheck(stage.harness, { name: 'whole' });
    const kept = (await stored(whole.id))?.definition ?? {};
    const { triggerIncident, alertSettings, muted, maxResponseTime, request, ...older } = kept;
    const write = (definition: Record<string, unknown>) => ({
      name: 'stored',
      activated: true,
      muted: false,
      groupId: null,
      groupOrder: null,
      tags: [],
      locations: [],
      definition,
      slots: notPlanned,
      intervalMs: minuteMs,
      runParallel: false,
      url: null,
    });
    const [oldId, badId] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
    const oldStrategy = { type: 'FIXED', baseBackoffSeconds: 5, sameRegion: true, onlyOn: 'NETWORK_ERROR' };
    const oldDefinition = {
      ...older,
      request: { method: 'GET', url: 'http://old.test/' },
      retryStrategy: oldStrategy,
    };
    await store.checks.insert(oldId, accountId, 'URL', write(oldDefinition), stage.clock.wallMs());
    await store.checks.insert(
      badId,
      accountId,
      'URL',
      write({ ...kept, muted: 'yes' }),
      stage.clock.wallMs(),
    );
    const one = await stage.harness.call('GET', `/v1/checks/${oldId}`);
    expect(one.status).toBe(200);
    expect(one.body).toMatchObject({
      triggerIncident,
      alertSettings,
      muted,
      maxResponseTime,
      request: { url: 'http://old.test/', skipSSL: false, assertions: [] },
      retryStrategy: { ...oldStrategy, maxRetries: 2, maxDurationSeconds: 600, onlyOn: ['NETWORK_ERROR'] },
    });
    expect(request).toHaveProperty('skipSSL');
    const list = await stage.harness.call('GET', '/v1/checks');
    expect(list.status).toBe(200);
    expect(list.body.map(({ id }: { id: string }) => id).sort()).toEqual([oldId, whole.id].sort());
  });

  it('keeps results of agents that are newer than the service', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, {
      privateLocations: ['lab'],
      retryStrategy: { onlyOn: 'NETWORK_ERROR', baseBackoffSeconds: 0 },
    });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const news = { owner: 'location' as const, code: 'QUANTUM_TUNNEL_CLOSED', message: 'what is that?' };
    expect(await stage.agent.report([reportOf(run, { failure: news, detail: { nonsense: true } })])).toEqual([
      'accepted',
    ]);
    const [result] = (await stage.harness.call('GET', `/v1/check-results/${check.id}`)).body;
    expect(result).toMatchObject({
      hasErrors: true,
      hasFailures: false,
      failure: news,
      apiCheckResult: null,
    });
    const row = await stage.harness.store.results.find(check.id, run.resultId);
    expect(JSON.parse(row?.error_messages ?? '[]').at(-1)).toMatch(/was not stored: "detail\./);
    expect((await stage.harness.call('GET', `/v1/check-statuses/${check.id}`)).body.hasErrors).toBe(true);
  });

  it('removes the results of a deleted check, including evidence, gradually', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [first] = await stage.agent.claim();
    await stage.queueNextSlot(check.id);
    const [second] = await stage.agent.claim();
    if (!first || !second) throw new Error('not enough was leased');
    expect(await stage.agent.release([first])).toBe(1);
    expect(await stage.agent.report([reportOf(first), reportOf(second)])).toEqual(['stale', 'accepted']);
    expect((await stage.harness.call('DELETE', `/v1/checks/${check.id}`)).status).toBe(204);
    const { results } = stage.harness.store;
    const left = async () => [
      (await results.existing([second.resultId])).size,
      (await results.staleOf(first.runId)).length,
    ];
    expect(await left()).toEqual([1, 1]);
    stage.harness.startLeaseSweep();
    await stage.advanceUntil('they are gone', async () => {
      stage.clock.advance(leaseTtlMs);
      return (await results.nextPurge()) === undefined;
    });
    expect(await left()).toEqual([0, 0]);
    // Late reports leave nothing either.
    expect(await stage.agent.report([reportOf(first)])).toEqual(['stale']);
    expect(await left()).toEqual([0, 0]);
  });

  it('keeps the artifacts listed in results, and which of them have arrived', async () => {
    await stage.start();
    const { store } = stage.harness;
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const awaited = {
      name: 'a/b.png',
      contentType: 'image/png',
      sizeBytes: 157_286_400,
      sha256: 'ab'.repeat(32),
      state: 'awaited' as const,
      reason: null,
      scrub: { replacedCount: 2, note: 'é' },
    };
    const refused = {
      ...awaited,
      sizeBytes: 1e13,
      sha256: null,
      state: 'refused' as const,
      reason: 'too large',
    };
    const artifacts = [awaited, { ...awaited, name: 'late' }, refused];
    expect(await stage.agent.report([reportOf(run, { artifacts })])).toEqual(['accepted']);
    const rows = (await store.artifacts.ofResults([run.resultId, 'another'])).get(run.resultId);
    expect(rows).toMatchObject([
      {
        position: 0,
        name: 'a/b.png',
        size_bytes: 157_286_400,
        state: 'awaited',
        stored: null,
        check_id: check.id,
      },
      { position: 1, name: 'late', sha256: 'ab'.repeat(32) },
      { position: 2, name: 'a/b.png', size_bytes: 1e13, sha256: null, state: 'refused', reason: 'too large' },
    ]);
    expect(JSON.parse(rows?.[0]?.scrub ?? '')).toEqual({ replacedCount: 2, note: 'é' });
    const now = stage.clock.wallMs();
    expect(await store.artifacts.find(run.resultId, 'a/b.png')).toMatchObject({ position: 0 });
    expect(await store.artifacts.markStored(run.resultId, 0, now)).toBe(true);
    expect(await store.artifacts.markStored(run.resultId, 0, now)).toBe(false);
    expect(await store.artifacts.markStored(run.resultId, 2, now)).toBe(false);
    await store.artifacts.loseAwaited(now - 1);
    expect(await store.artifacts.find(run.resultId, 'late')).toMatchObject({ state: 'awaited' });
    await store.artifacts.loseAwaited(now + 1);
    expect(await store.artifacts.find(run.resultId, 'late')).toMatchObject({ state: 'lost' });
    expect(await store.artifacts.find(run.resultId, 'a/b.png')).toMatchObject({
      state: 'stored',
      stored: now,
    });
    await stage.harness.call('DELETE', `/v1/checks/${check.id}`);
    await store.transaction((repositories) => repositories.results.purgeSome(check.id, 10));
    expect(await store.artifacts.ofResults([run.resultId])).toEqual(new Map());
  });

  it('removes many results in portions', async () => {
    await stage.start();
    const { store } = stage.harness;
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run)]);
    const row = await store.results.find(check.id, run.resultId);
    if (!row) throw new Error('no result');
    const copies = Array.from({ length: 9 }, (_, index) => `copy-${index}`);
    await store.results.insert(copies.map((id) => ({ ...row, id, run_id: id })));
    await stage.harness.call('DELETE', `/v1/checks/${check.id}`);
    const left = [];
    while ((await store.results.nextPurge()) !== undefined) {
      await store.transaction((repositories) => repositories.results.purgeSome(check.id, 4));
      left.push((await store.results.existing([...copies, run.resultId])).size);
    }
    expect(left).toEqual([6, 2, 0]);
  });

  it('finds checks by their URL in any case, the same on every engine', async () => {
    await stage.start();
    await createCheck(stage.harness, { request: { url: 'https://Straße.test/Ünï%20_x' } });
    const found = async (part: string) => {
      const query = `apiCheckUrlFilterPattern=${encodeURIComponent(part)}`;
      return (await stage.harness.call('GET', `/v1/checks?${query}`)).body.length;
    };
    expect([await found('STRAßE.TEST'), await found('/ünÏ%20_X'), await found('ï%20x')]).toEqual([1, 1, 0]);
    const refused = await stage.harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request: { url: 'http://x.test/\ud800' },
    });
    expect([refused.status, refused.body.validation.keys]).toEqual([400, ['request.url']]);
    const key = await stage.harness.call('POST', '/v1/checks/url', {
      name: 'x',
      request: { url: 'http://x.test/' },
      'a\udc00': 1,
    });
    expect(key.status).toBe(400);
  });

  it('refuses agent ids that cannot be stored', async () => {
    await stage.start();
    for (const agentId of ['a\u0000b', 'a\nb', '\ud800', '']) {
      for (const [path, body] of [
        ['results', { results: [{}] }],
        ['claims', stage.agent.claimBody()],
        ['leases/renew', { leases: [] }],
      ] as const) {
        const answer = await stage.agent.call(path, { ...stage.agent.identity, ...body, agentId });
        expect([path, answer.status, answer.body.validation?.keys]).toEqual([path, 400, ['agentId']]);
      }
    }
    const platform = await stage.agent.call('claims', stage.agent.claimBody({ platform: 'a\u0000' }));
    expect(platform.body.validation.keys).toEqual(['platform']);
  });
}

import { expect, it } from 'vitest';
import type { LeasedRun } from '../../../../src/protocol/agent/agent.ts';
import { resultIdOf } from '../../../../src/service/runs/lease-store.ts';
import {
  createCheck,
  reportOf,
  type ServiceHarness,
  TestAgent,
  until,
} from '../../../helpers/service/service.ts';
import { leaseTtlMs, type StoreStage } from './stage.ts';

const minuteMs = 60_000;

/** Leases: claims, renewals, fencing, releases, and runs that no agent claims. */
export function leaseSuite(stage: StoreStage): void {
  it('covers the whole flow: slot, claim, result, status', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    expect(run).toMatchObject({ leaseNumber: 1, attempt: 0, location: { name: 'lab', proxyUrl: null } });
    expect(run.check.spec.request).toMatchObject({ url: 'http://target.test/' });
    expect(await stage.agent.claim()).toEqual([]);
    expect(await stage.agent.report([reportOf(run)])).toEqual(['accepted']);
    const results = await stage.harness.call('GET', `/v1/check-results/${check.id}`);
    expect(results.body).toHaveLength(1);
    expect(results.body[0]).toMatchObject({
      id: run.resultId,
      resultType: 'FINAL',
      responseTime: 100,
      attempts: 0,
      runLocation: 'lab',
    });
    const status = await stage.harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(status.body).toMatchObject({ hasFailures: false, longestRun: 100, lastRunLocation: 'lab' });
    expect((await stage.runsOf(check.id)).map(({ state }) => state)).toEqual(['final']);
  });

  it('gives each agent its own receipts when several report at once', async () => {
    await stage.start();
    const agents = Array.from(
      { length: 3 },
      (_none, index) => new TestAgent(stage.harness, stage.location, `agent-${index}`),
    );
    const leased: LeasedRun[] = [];
    for (const agent of agents) {
      const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
      await stage.queueNextSlot(check.id);
      const mine = (await agent.claim()).find((run) => run.check.id === check.id);
      if (!mine) throw new Error('nothing was leased');
      leased.push(mine);
    }
    const reported = await Promise.all([
      ...agents.map((agent, index) =>
        agent.report(leased.slice(index, index + 1).map((run) => reportOf(run))),
      ),
      agents[0]?.report(leased.slice(0, 1).map((run) => reportOf(run))),
      agents[1]?.report([{ resultId: 'nonsense' }]),
    ]);
    expect([...(reported[0] ?? []), ...(reported[3] ?? [])].sort()).toEqual(['accepted', 'duplicate']);
    expect(reported.slice(1, 3)).toEqual([['accepted'], ['accepted']]);
    expect(reported[4]).toEqual(['rejected']);
    for (const [index, run] of leased.entries()) {
      const stored = await stage.harness.store.results.find(run.check.id, run.resultId);
      expect(stored).toMatchObject({ agent_id: `agent-${index}`, result_type: 'FINAL' });
    }
  });

  it('never leases one run to two agents that claim at once', async () => {
    await stage.start();
    const checks = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        // One offset: all slots lie within six seconds, and remain fresh for as many minutes.
        createCheck(stage.harness, {
          name: `check ${index}`,
          frequency: 10,
          frequencyOffset: 50,
          privateLocations: ['lab'],
        }),
      ),
    );
    const stored = await Promise.all(
      checks.map(({ id }) => stage.harness.store.checks.find(stage.harness.accountId, id)),
    );
    stage.harness.startScheduler();
    const lastSlotAt = Math.max(...stored.map((check) => check?.slots.nextSlotAt ?? 0));
    stage.clock.advance(lastSlotAt - stage.clock.wallMs());
    await stage.advanceUntil('all are queued', async () => {
      const counts = await Promise.all(checks.map(async ({ id }) => (await stage.runsOf(id)).length));
      return counts.every((count) => count > 0);
    });
    const agents = Array.from(
      { length: 8 },
      (_, index) => new TestAgent(stage.harness, stage.location, `agent-${index}`),
    );
    const claimed = await Promise.all(
      agents.map((each) => each.claim({ freeSlots: { probe: 4, script: 0 } })),
    );
    const ids = claimed.flat().map(({ runId }) => runId);
    // A claim skips a run that another transaction has locked, such as the scheduler's.
    const leased = await until('all are leased', async () => {
      ids.push(...(await stage.agent.claim()).map(({ runId }) => runId));
      const runs = (await Promise.all(checks.map(({ id }) => stage.runsOf(id)))).flat();
      return runs.every(({ state }) => state !== 'queued') && runs;
    });
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(20);
    expect(leased.every((run) => run.state === 'leased' && run.lease_number === 1)).toBe(true);
    expect([...ids].sort()).toEqual(leased.map(({ id }) => id).sort());
    expect(claimed.every((runs) => runs.length <= 4)).toBe(true);
  });

  it('renews the leases of a session and names the lost ones', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const runs = await stage.agent.claim();
    stage.clock.advance(10_000);
    expect(await stage.agent.renew(runs)).toMatchObject({ lostRunIds: [], cancelledRunIds: [] });
    const [row] = await stage.runsOf(check.id);
    expect(row?.lease_until).toBe(stage.clock.wallMs() + leaseTtlMs);
    // A clone of the machine: the same agent id with another session.
    const clone = new TestAgent(stage.harness, stage.location);
    expect(await clone.renew(runs)).toMatchObject({ lostRunIds: runs.map(({ runId }) => runId) });
    expect(await clone.release(runs)).toBe(0);
    expect(await stage.agent.renew(runs)).toMatchObject({ lostRunIds: [] });
    const bySession = (await stage.harness.call('GET', `/v1/private-locations/${stage.location.id}`)).body;
    expect(bySession.agentCount).toBe(1);
    await clone.claim();
    stage.clock.advance(1000);
    expect(
      (await stage.harness.call('GET', `/v1/private-locations/${stage.location.id}`)).body.agentCount,
    ).toBe(2);
  });

  it('fences a result whose lease was lost, and counts the run once', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [late] = await stage.agent.claim();
    stage.harness.startLeaseSweep();
    const second = new TestAgent(stage.harness, stage.location, 'agent-2');
    const again = await stage.advanceUntil('the lease ran out', async () => {
      stage.clock.advance(1000);
      return (await second.claim())[0];
    });
    if (!late) throw new Error('nothing was leased');
    expect(again).toMatchObject({ runId: late.runId, leaseNumber: 2 });
    expect(again.resultId).not.toBe(late.resultId);
    expect(await stage.agent.report([reportOf(late)])).toEqual(['stale']);
    expect(await second.report([reportOf(again)])).toEqual(['accepted']);
    expect(await stage.agent.report([reportOf(late)])).toEqual(['stale']);
    expect(await second.report([reportOf(again), reportOf(again)])).toEqual(['duplicate', 'duplicate']);
    const results = await stage.harness.call('GET', `/v1/check-results/${check.id}?resultType=ALL`);
    expect(results.body.map(({ id }: { id: string }) => id)).toEqual([again.resultId]);
    const evidence = await stage.harness.store.results.staleOf(late.runId);
    expect(evidence.map(({ id, lease_number }) => [id, lease_number])).toEqual([[late.resultId, 1]]);
  });

  it('judges each of several reports of one run in a batch, and the others beside them', async () => {
    await stage.start();
    const runs = [];
    for (const name of ['one', 'two']) {
      const check = await createCheck(stage.harness, { name, privateLocations: ['lab'] });
      await stage.queueNextSlot(check.id);
      runs.push(...(await stage.agent.claim()));
    }
    const [one, two] = runs;
    if (!one || !two) throw new Error('too little was leased');
    const failure = { owner: 'target', code: 'CONNECTION_REFUSED', message: 'refused' } as const;
    const foreign = { ...reportOf(two), resultId: one.resultId };
    const late = { ...reportOf(two), leaseNumber: 2, resultId: resultIdOf(two.runId, 2) };
    const batch = [late, reportOf(one, { failure }), reportOf(one), foreign, reportOf(two)];
    const receipts = await stage.agent.report(batch);
    expect(receipts.join(' ')).toBe('stale accepted duplicate duplicate accepted');
    const shown = await stage.harness.call('GET', `/v1/check-results/${one.check.id}?resultType=ALL`);
    expect(shown.body).toMatchObject([{ id: one.resultId, hasFailures: true }]);
    // Of these two: the next run of the first check may be queued already. The failed one is retried.
    const states = (await Promise.all([one, two].map(({ check }) => stage.runsOf(check.id)))).flat();
    const stateOf = ({ runId }: typeof one) => states.find(({ id }) => id === runId)?.state;
    expect([one, two].map(stateOf)).toEqual(['queued', 'final']);
  });

  it('stores one result when the same batch arrives several times at once', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    const answers = await Promise.all(Array.from({ length: 6 }, () => stage.agent.report([reportOf(run)])));
    expect(answers.flat().sort()).toEqual(['accepted', ...Array(5).fill('duplicate')]);
    expect((await stage.runsOf(check.id)).map(({ state }) => state)).toEqual(['final']);
  });

  it('gives a run up after two agents were lost with it', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    stage.harness.startLeaseSweep();
    const deaths: number[] = [];
    await stage.advanceUntil('the run is given up', async () => {
      const taken = await stage.agent.claim();
      deaths.push(
        ...taken.filter(({ check: { id } }) => id === check.id).map(({ leaseNumber }) => leaseNumber),
      );
      const [first] = await stage.runsOf(check.id);
      stage.clock.advance(500);
      return first?.state === 'missed';
    });
    const [run] = await stage.runsOf(check.id);
    expect(run).toMatchObject({ state: 'missed', reason: 'agent-lost', lease_number: 2 });
  });

  it('takes released leases back at once without counting them as deaths', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    for (let lease = 1; lease <= 4; lease += 1) {
      const runs = await stage.agent.claim();
      expect(runs[0]?.leaseNumber).toBe(lease);
      expect(await stage.agent.release(runs)).toBe(1);
      expect(await stage.agent.release(runs)).toBe(0);
    }
    expect((await stage.runsOf(check.id))[0]).toMatchObject({ state: 'queued', deaths: 0 });
  });

  it('leases a run of a script only to an agent that has its runtime', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const scripts = { checkTypes: ['MULTI_STEP'], freeSlots: { probe: 0, script: 2 } };
    const own = await createScriptCheck(stage.harness, { runtimeId: '2025.04' });
    const usual = await createScriptCheck(stage.harness, {});
    await stage.queueNextSlot(own.id);
    await stage.queueNextSlot(usual.id);
    expect(await stage.agent.claim(scripts)).toEqual([]);
    expect(await stage.agent.claim({ ...scripts, runtimes: ['2024.02'] })).toEqual([]);
    const newest = await stage.agent.claim({ ...scripts, runtimes: ['2026.04'] });
    expect(newest.map(({ check, runtimeId }) => [check.id, runtimeId])).toEqual([[usual.id, '2026.04']]);
    const older = await stage.agent.claim({ ...scripts, runtimes: ['2025.04'] });
    expect(older.map(({ check, runtimeId }) => [check.id, runtimeId])).toEqual([[own.id, '2025.04']]);
  });

  it.each([
    ['of its own', { localSetupScript: 'x' }, {}],
    ['of its group', {}, { localTearDownScript: 'x', runtimeId: '2025.04' }],
  ])(
    'leases a run with scripts %s around it only to an agent that has their runtime',
    async (_whose, own, shared) => {
      await stage.start();
      stage.harness.startLeaseSweep();
      const post = async (path: string, body: object) => (await stage.harness.call('POST', path, body)).body;
      const group = await post('/v1/check-groups', { name: 'g', ...shared });
      const body = {
        name: 'a check',
        frequency: 1,
        privateLocations: ['lab'],
        request: { url: 'http://a.test/' },
        groupId: group.id,
      };
      const check = await post('/v1/checks/api', { ...body, runtimeId: '2025.04', ...own });
      await stage.queueNextSlot(check.id);
      expect(await stage.agent.claim({})).toEqual([]);
      expect(await stage.agent.claim({ runtimes: ['2026.04'] })).toEqual([]);
      const [run] = await stage.agent.claim({ runtimes: ['2025.04'] });
      expect(run).toMatchObject({ runtimeId: '2025.04', check: { id: check.id } });
      expect((run?.lifecycle.setup.length ?? 0) + (run?.lifecycle.teardown.length ?? 0)).toBe(1);
    },
  );

  it('leases a suite only to an agent that has all of its browsers', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const suites = { checkTypes: ['PLAYWRIGHT'], freeSlots: { probe: 0, script: 2 } };
    const create = (name: string, browsers: readonly string[]) =>
      stage.harness.call('POST', '/v1/checks/playwright', {
        name,
        browsers,
        frequency: 1,
        codeBundlePath: `${'a'.repeat(64)}-1`,
        privateLocations: ['lab'],
      });
    const both = (await create('both', ['webkit', 'chromium', 'firefox'])).body;
    const usual = (await create('usual', ['chromium'])).body;
    await stage.queueNextSlot(both.id);
    await stage.queueNextSlot(usual.id);
    const firefox = { name: 'firefox', version: '1490' };
    const idsOf = (runs: readonly LeasedRun[]) => runs.map(({ check }) => check.id);
    expect(idsOf(await stage.agent.claim({ ...suites, browsers: [firefox] }))).toEqual([usual.id]);
    const able = { ...suites, browsers: [{ name: 'webkit', version: '2182' }, firefox] };
    expect(idsOf(await stage.agent.claim(able))).toEqual([both.id]);
  });

  it('leases a script only to an agent that has its browsers and its runtime', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const script = "test.use({ browserName: 'firefox' });";
    const body = { name: 'in Firefox', frequency: 1, script, privateLocations: ['lab'] };
    const { body: check } = await stage.harness.call('POST', '/v1/checks/browser', body);
    await stage.queueNextSlot(check.id);
    const scripts = { checkTypes: ['BROWSER'], freeSlots: { probe: 0, script: 1 } };
    const browsers = [{ name: 'firefox', version: '1509' }];
    expect(await stage.agent.claim({ ...scripts, runtimes: ['2026.04'] })).toEqual([]);
    expect(await stage.agent.claim({ ...scripts, runtimes: ['2025.04'], browsers })).toEqual([]);
    const [run] = await stage.agent.claim({ ...scripts, runtimes: ['2025.04', '2026.04'], browsers });
    expect(run).toMatchObject({ runtimeId: '2026.04', check: { id: check.id } });
  });

  it('ends a run as unsupported if no agent has its runtime', async () => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const check = await createScriptCheck(stage.harness, { runtimeId: '2025.04' });
    await stage.queueNextSlot(check.id);
    await stage.advanceUntil('it is missed', async () => {
      stage.clock.advance(500);
      await stage.agent.claim({
        checkTypes: ['MULTI_STEP'],
        freeSlots: { probe: 0, script: 1 },
        runtimes: ['2026.04'],
      });
      return (await stage.runsOf(check.id))[0]?.state === 'missed';
    });
    expect((await stage.runsOf(check.id))[0]?.reason).toBe('unsupported');
  });

  it.each([
    ['no-agent', 'nobody ever came', {}],
    ['no-agent', 'a region has no agents here', { privateLocations: [], locations: ['eu-west-1'] }],
    ['unsupported', 'the agents cannot run it', { checkTypes: ['API'] }],
    ['over-capacity', 'the agents had no free slot', { freeSlots: { probe: 0, script: 0 } }],
    ['expired', 'an agent gave it back', { gaveBack: true }],
  ])('misses a run that waited too long: %s, %s', async (reason, _story, fields: Record<string, unknown>) => {
    const { checkTypes, freeSlots, gaveBack, ...checkFields } = fields;
    await stage.start();
    stage.harness.startLeaseSweep();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], ...checkFields });
    await stage.queueNextSlot(check.id);
    if (gaveBack) expect(await stage.agent.release(await stage.agent.claim())).toBe(1);
    await stage.advanceUntil('it is missed', async () => {
      stage.clock.advance(500);
      if (checkTypes) await stage.agent.claim({ checkTypes });
      // The agent is still present, but has no free slot for it.
      if (freeSlots || gaveBack) await stage.agent.claim({ freeSlots: { probe: 0, script: 0 } });
      return (await stage.runsOf(check.id))[0]?.state === 'missed';
    });
    const [run] = await stage.runsOf(check.id);
    expect(run?.reason).toBe(reason);
    expect((run?.ended ?? 0) - (run?.slot_at ?? 0)).toBeGreaterThanOrEqual(minuteMs);
    expect((run?.ended ?? 0) - (run?.slot_at ?? 0)).toBeLessThan(1.2 * minuteMs);
  });

  it.each([
    ['over-capacity', 'has work in hand'],
    ['no-agent', 'was killed'],
    ['no-agent', 'has a key that was revoked'],
  ])('misses a run that waited too long: %s, if its agent %s', async (reason, story) => {
    await stage.start();
    stage.harness.startLeaseSweep();
    const other = await createCheck(stage.harness, { privateLocations: ['lab'], frequency: 60 });
    await stage.queueNextSlot(other.id);
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    await stage.queueNextSlot(check.id);
    const leased = await stage.agent.claim({ freeSlots: { probe: 1, script: 0 } });
    expect(leased.map((run) => run.check.id)).toEqual([other.id]);
    if (story === 'was killed') await stage.harness.call('DELETE', `/v1/checks/${other.id}`);
    await stage.advanceUntil('it is missed', async () => {
      stage.clock.advance(500);
      if (story !== 'was killed') await stage.agent.renew(leased);
      const [run] = await stage.runsOf(check.id);
      const isNearlyOver = stage.clock.wallMs() > (run?.expires_at ?? 0) - 2_000;
      if (story === 'has a key that was revoked' && isNearlyOver) await revokeKeys(stage);
      return run?.state === 'missed';
    });
    expect((await stage.runsOf(check.id))[0]?.reason).toBe(reason);
  });
}

async function revokeKeys({ harness, location }: StoreStage): Promise<void> {
  const path = `/v1/private-locations/${location.id}`;
  for (const { id } of (await harness.call('GET', path)).body.keys) {
    await harness.call('DELETE', `${path}/keys/${id}?force=true`);
  }
}

async function createScriptCheck(harness: ServiceHarness, fields: Readonly<Record<string, unknown>>) {
  const answer = await harness.call('POST', '/v1/checks/multistep', {
    name: 'a script',
    frequency: 1,
    script: "import { test } from '@playwright/test'; test('x', () => {});",
    privateLocations: ['lab'],
    ...fields,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body as { readonly id: string };
}

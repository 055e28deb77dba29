import { describe, expect, it } from 'vitest';
import type { LeaseRef } from '../../../src/protocol/agent/agent.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

describe('leases', () => {
  it('are renewed together while runs are in progress', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    await stage.connectedAgent();
    const runs = [leasedRun(target.url('/hold/1')), leasedRun(target.url('/hold/2'))];
    service.enqueue(...runs);
    const renewal = await service.waitFor('three renewals', () => service.callsOf('renew')[2]);
    const renewed = (renewal.body.leases as LeaseRef[]).map(({ runId }) => runId);
    expect(renewed.sort()).toEqual(runs.map(({ runId }) => runId).sort());
    target.releaseAll();
    await service.waitFor('both accepted', () => service.receipts.length === 2);
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted', 'accepted']);
  });

  it('that are lost stop their run, and its slot is free again', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '1' });
    const lost = leasedRun(target.url('/hold'));
    service.enqueue(lost);
    await service.waitFor('the run', () => target.heldCount === 1);
    service.loseLease(lost.runId);
    await service.waitFor('the run to stop', () => target.abandoned.length === 1);
    expect(await agent.logged('lease ended before its result')).toMatchObject({ reason: 'lost' });
    const next = leasedRun(target.url('/next'));
    service.enqueue(next);
    await service.waitFor('the next result', () => service.resultOf(next.runId));
    expect(service.resultOf(lost.runId)).toBeUndefined();
  });

  it.each(['renewal', 'claim'])('of cancelled runs end with the next %s', async (by) => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = by === 'renewal' ? 1500 : 60_000;
    await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    service.cancel(run.runId);
    await service.waitFor('the run to stop', () => target.abandoned.length === 1);
    expect(service.results).toEqual([]);
  });

  it('expire when the service is cut off; the run is stopped without it', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    const agent = await stage.connectedAgent();
    service.enqueue(leasedRun(target.url('/hold')));
    await service.waitFor('the run', () => target.heldCount === 1);
    service.script = () => ({ isSilent: true });
    await service.waitFor('the run to stop', () => target.abandoned.length === 1);
    expect(await agent.logged('lease ended before its result')).toMatchObject({ reason: 'expired' });
  });

  it('of a claim whose response was lost are claimed again, long before they expire', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 600_000;
    await stage.connectedAgent();
    let lostClaim: unknown;
    service.script = (call) => {
      if (call.name !== 'claim' || lostClaim !== undefined) return undefined;
      lostClaim = call.body.claimNumber;
      return { isAnswerLost: true };
    };
    // The claim in progress when the script is set may still succeed: one of the two runs is lost.
    service.enqueue(leasedRun(target.url('/1')));
    await service.waitFor('the claim that will be lost', () => lostClaim);
    service.enqueue(leasedRun(target.url('/2')));
    await service.waitFor('both results', () => service.results.length === 2);
    expect(service.results.map(({ leaseNumber }) => leaseNumber).sort()).toEqual([1, 2]);
    expect(target.requests.toSorted()).toEqual(['/1', '/2']);
    const telling = service.callsOf('claim').filter(({ body }) => (body.lostClaims as unknown[]).length > 0);
    expect(telling.map(({ body }) => body.lostClaims)).toEqual([[lostClaim]]);
  });

  it('granted twice run once', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run, run);
    await service.waitFor('the run', () => target.heldCount === 1);
    service.enqueue(run);
    await service
      .waitFor('a claim after the third', () => service.callsOf('claim').length >= 5, 5000)
      .catch(() => 0);
    expect(target.requests).toHaveLength(1);
    target.releaseAll();
    await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(target.requests).toHaveLength(1);
  });

  it('granted anew replace the old one: never both at once', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    service.enqueue({ ...run, leaseNumber: 2, resultId: crypto.randomUUID() });
    await service.waitFor('the second try', () => target.requests.length === 2);
    expect(target.abandoned).toHaveLength(1);
    expect(target.heldCount).toBe(1);
    target.releaseAll();
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(result.leaseNumber).toBe(2);
    expect(service.results).toHaveLength(1);
  });

  it('are detected as lost after a stop of the process, before anything is sent', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    agent.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2000));
    service.loseLease(run.runId);
    target.releaseAll();
    agent.signal('SIGCONT');
    const line = await agent.logged('lease ended before its result');
    expect(line).toMatchObject({ reason: 'expired' });
    await service.waitFor('a later claim', () => service.callsOf('claim').at(-1)?.isAborted === false);
    expect(service.receipts.every(({ status }) => status === 'stale')).toBe(true);
  });

  it('and times follow the service, even if its first response took long', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const run = leasedRun(target.url());
    service.enqueue(run);
    service.script = ({ name }) =>
      name === 'claim' && service.callsOf('claim').length === 1 ? { delayMs: 5000 } : undefined;
    stage.startAgent();
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    // Halfway between request and response the service's clock was 2.5 s behind the time in the response.
    expect(Math.abs(result.startedAt - Number(result.hostStartedAt))).toBeLessThan(2000);
  });

  it('and times follow the service, however wrong the clock of the machine is', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.clockAheadMs = 3_600_000;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url(), { slotAt: Date.now() + 3_600_000 });
    service.enqueue(run);
    const result = await service.waitFor('the result', () => service.resultOf(run.runId));
    expect(Math.abs(result.startedAt - run.slotAt)).toBeLessThan(1_800_000);
    expect(service.receipts[0]?.status).toBe('accepted');
    const { serviceClock } = JSON.parse((await agent.get('/health')).body) as {
      serviceClock: { skewMs: number };
    };
    expect(Math.round(serviceClock.skewMs / 60_000)).toBe(-60);
  });
});

import { expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

/** The agent's estimate of the service's clock is off by at most half a round trip. */
const clockErrorMs = 25;

it('starts a run that it has early at its slot', async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  await stage.connectedAgent();
  const slotAt = Date.now() + 700;
  const run = leasedRun(target.url(), { slotAt });
  service.enqueue(run);
  await service.waitFor('the lease', () => service.leases.size === 1);
  expect(target.requests).toEqual([]);
  const result = await service.waitFor('the result', () => service.resultOf(run.runId));
  expect(result.startedAt).toBeGreaterThanOrEqual(slotAt - clockErrorMs);
  const [claim] = service.callsOf('claim').toReversed();
  expect(claim?.body).toMatchObject({ aheadMs: 2_000, aheadSlots: { script: 0 } });
});

it('gives early runs back when it stops, and sends reports that wait', async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  const agent = await stage.connectedAgent();
  const first = leasedRun(target.url());
  service.enqueue(first);
  await service.waitFor('the first result', () => service.resultOf(first.runId));
  const { check } = first;
  const later = leasedRun(target.url(), { check, slotAt: Date.now() + 1_900 });
  const waiting = leasedRun(target.url('/hold'), { check, mayReportLater: true });
  service.enqueue(waiting, later);
  await service.waitFor('the request', () => target.heldCount === 1);
  agent.signal('SIGTERM');
  await service.waitFor('the early run is back', () => service.released.length === 1);
  target.releaseAll();
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  expect(service.released).toMatchObject([{ runId: later.runId }]);
  expect(service.resultOf(waiting.runId)).toMatchObject({ failure: null });
});

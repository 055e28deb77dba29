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
  const first = leasedRun(target.url());
  const held = leasedRun(target.url('/hold'), { mayReportLater: true });
  const waiting = { ...held, check: { ...held.check, id: first.check.id } };
  const later = leasedRun(target.url('/later'), { slotAt: Date.now() + 3_600_000 });
  let next: (typeof first)[] = [];
  // Both at once, though the lane has one place: on a slow machine the second is due and waits for it.
  service.script = (call) =>
    call.name === 'claim'
      ? {
          change: (answer) => {
            if (next.length === 0) return answer;
            const runs = next;
            next = [];
            for (const { runId, leaseNumber } of runs) service.leases.set(runId, { runId, leaseNumber });
            return { ...answer, runs };
          },
        }
      : undefined;
  const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '1' });
  service.enqueue(first);
  await service.waitFor('the first result', () => service.resultOf(first.runId));
  next = [waiting, later];
  // Ends the long poll, which gets the two in its place.
  service.enqueue(leasedRun(target.url()));
  await service.waitFor('the request', () => target.heldCount === 1);
  agent.signal('SIGTERM');
  await service.waitFor('the early run is back', () =>
    service.released.some(({ runId }) => runId === later.runId),
  );
  target.releaseAll();
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  expect(service.resultOf(waiting.runId)).toMatchObject({ failure: null });
  expect(service.resultOf(later.runId)).toBeUndefined();
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sameStopMs } from '../../../src/lib/process/stop-requests.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { sampleOf } from '../../helpers/night.ts';

const clean = { code: 0, signal: null };
const unclean = { code: 1, signal: null };

describe('SIGTERM', () => {
  it.each(sampleOf(['SIGTERM', 'SIGINT', 'SIGHUP'] as const, 1))(
    'an idle agent ends at once with code 0 (%s)',
    async (signal) => {
      await using stage = await Stage.open();
      const { service } = stage;
      const agent = await stage.connectedAgent();
      const poll = await service.waitFor('the long poll', () => service.callsOf('claim')[1]);
      agent.signal(signal);
      expect(await agent.exited).toEqual(clean);
      expect(poll.isAborted).toBe(true);
      expect(agent.stderr).toBe('');
    },
  );

  it('an agent that is still starting ends with code 0', async () => {
    await using stage = await Stage.open();
    const agent = stage.startAgent();
    await agent.logged('agent starts');
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual(clean);
  });

  it('an agent that has not started its threads leaves none behind', async () => {
    await using stage = await Stage.open();
    const folder = await mkdtemp(join(tmpdir(), 'picket-certificates-'));
    // Many files, so that the agent is still reading them when the signal arrives.
    for (let index = 0; index < 3000; index += 1) await writeFile(join(folder, `${index}.pem`), 'nothing');
    const agent = stage.startAgent({ CA_CERTS_DIR: folder });
    await agent.logged('agent starts');
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual(clean);
    await rm(folder, { recursive: true });
  });

  it('a running check is finished and reported; readiness is 503 and liveness 200 meanwhile', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 1500;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    const readiness = await agent.get('/-/readiness');
    expect(readiness).toMatchObject({ status: 503, body: expect.stringContaining('shutting down') });
    expect(await agent.get('/-/liveness')).toMatchObject({ status: 200 });
    await service.waitFor('renewals during the drain', () => service.callsOf('renew').length >= 4);
    target.releaseAll();
    expect(await agent.exited).toEqual(clean);
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted']);
    // One further claim, without free slots: it gives back runs that the last one may have leased.
    const [last, ...others] = service.callsOf('claim').toReversed();
    expect(last?.body).toMatchObject({
      freeSlots: { probe: 0, script: 0 },
      lostClaims: [others[0]?.body.claimNumber],
    });
    expect(service.leases.size).toBe(0);
  });

  it('runs of a lost response are released at once', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.leaseTtlMs = 600_000;
    // All claims except the final one, which has no free slots.
    service.script = ({ name, body }) => ({ isAnswerHeld: name === 'claim' && body.waitMs !== 0 });
    const agent = await stage.connectedAgent();
    service.enqueue(leasedRun(target.url()));
    await service.waitFor('the lease', () => service.leases.size === 1);
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual(clean);
    expect({ held: service.leases.size, queued: service.queuedCount }).toEqual({ held: 0, queued: 1 });
    expect(target.requests).toEqual([]);
  });

  it('runs that have not started are released at once', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    // More runs than the agent requested: the surplus waits in the lane.
    const runs = [1, 2, 3, 4].map((index) => leasedRun(target.url(`/hold/${index}`)));
    service.script = (call, index) =>
      call.name === 'claim' && index === 1
        ? {
            change: (answer) => {
              for (const { runId, leaseNumber } of runs) service.leases.set(runId, { runId, leaseNumber });
              return { ...answer, runs };
            },
          }
        : undefined;
    const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '1' });
    await service.waitFor('the long poll', () => service.callsOf('claim').length === 2);
    service.enqueue(leasedRun(target.url()));
    await service.waitFor('the first run', () => target.heldCount === 1);
    agent.signal('SIGTERM');
    await service.waitFor('three leases back', () => service.released.length === 3);
    expect(target.heldCount).toBe(1);
    target.releaseAll();
    expect(await agent.exited).toEqual(clean);
    expect(service.results).toHaveLength(1);
    expect(target.requests).toHaveLength(1);
  });

  it('results are sent until they are acknowledged', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    service.script = (call) => (call.name === 'results' ? { statusCode: 503 } : undefined);
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url());
    service.enqueue(run);
    await service.waitFor('a refused upload', () => service.callsOf('results').length >= 1);
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    service.script = undefined;
    expect(await agent.exited).toEqual(clean);
    expect(service.resultOf(run.runId)).toBeDefined();
  });

  it('runs that do not end within the grace are stopped and released', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent({ SHUTDOWN_GRACE_SECONDS: '1' });
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual(clean);
    expect(target.abandoned).toEqual(['/hold']);
    expect(service.released).toEqual([{ runId: run.runId, leaseNumber: 1 }]);
    expect(service.results).toEqual([]);
  });

  it('signals that a terminal and a wrapper send together count as one', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent();
    service.enqueue(leasedRun(target.url('/hold')));
    await service.waitFor('the run', () => target.heldCount === 1);
    agent.signal('SIGINT');
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    agent.signal('SIGTERM');
    await agent.logged('stopping already');
    target.releaseAll();
    expect(await agent.exited).toEqual(clean);
    expect(service.receipts.map(({ status }) => status)).toEqual(['accepted']);
  });

  it('a second signal ends it soon, with code 1', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent();
    const run = leasedRun(target.url('/hold'));
    service.enqueue(run);
    await service.waitFor('the run', () => target.heldCount === 1);
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    await delay(sameStopMs);
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual(unclean);
    expect(service.released).toEqual([{ runId: run.runId, leaseNumber: 1 }]);
  });

  it('a second signal ends it even if nothing responds', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const agent = await stage.connectedAgent();
    service.enqueue(leasedRun(target.url('/hold')), leasedRun(target.url()));
    await service.waitFor('one result', () => service.results.length === 1);
    service.script = () => ({ isSilent: true });
    agent.signal('SIGTERM');
    await agent.logged('stopping');
    await delay(sameStopMs);
    agent.signal('SIGINT');
    expect(await agent.exited).toEqual(unclean);
    expect(await agent.logged('failed to release leases')).toBeDefined();
  });
});

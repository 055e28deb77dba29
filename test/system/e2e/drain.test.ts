import { describe, expect, it } from 'vitest';
import {
  createLocation,
  startAgentProcess,
  startServiceProcess,
  until,
} from '../../helpers/picket-process.ts';
import { readLedger } from '../../helpers/service/ledger-view.ts';
import { startHoldingTarget } from '../../helpers/targets/holding-target.ts';

describe('SIGTERM to an agent with work in hand', () => {
  it('turns unready at once, stays live, reports running runs, releases waiting ones, exits with 0', {
    timeout: 120_000,
  }, async () => {
    await using target = await startHoldingTarget();
    await using service = await startServiceProcess();
    const location = await createLocation(service, 'drained');
    const checkIds: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      const { id } = await service.api<{ id: string }>('POST', '/v1/checks/url', {
        name: `check ${index}`,
        // With seconds between slots, released runs would be missed a moment later.
        frequency: 1440,
        privateLocations: [location.slugName],
        request: { url: `${target.url}/${index}` },
      });
      checkIds.push(id);
    }
    const connection = { serviceUrl: service.url, key: location.key };
    await using agent = await startAgentProcess(connection, { PROBE_CONCURRENCY: '3' });
    await until('the agent is there', async () => {
      const { agentCount } = await service.api<{ agentCount: number }>(
        'GET',
        `/v1/private-locations/${location.id}`,
      );
      return agentCount === 1;
    });
    await service.api('POST', '/v1/check-sessions/trigger', { target: { checkId: checkIds } });
    await until('three runs are in flight', () => target.waiting().length === 3, { process: agent.process });
    const heldBy = (state: string) => readLedger(service.dataDir).filter((run) => run.state === state);
    const inFlight = heldBy('leased').map(({ id }) => id);
    expect(inFlight.length).toBeGreaterThanOrEqual(3);

    agent.process.child.kill('SIGTERM');
    await until('readiness is 503', async () => (await status(`${agent.healthUrl}/-/readiness`)) === 503);
    expect(await status(`${agent.healthUrl}/-/liveness`)).toBe(200);
    // A draining agent claims no new work: the queue grows and its runs are not leased.
    target.release();
    expect(await agent.process.ended).toEqual({ code: 0, signal: null });

    expect(heldBy('leased')).toEqual([]);
    const ended = readLedger(service.dataDir).filter(({ id }) => inFlight.includes(id));
    const finished = ended.filter(({ state }) => state === 'final');
    const givenBack = ended.filter(({ state }) => state === 'queued');
    expect(finished.length).toBeGreaterThanOrEqual(3);
    expect(finished.length + givenBack.length).toBe(inFlight.length);
  });
});

async function status(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

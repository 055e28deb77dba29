import { describe, expect, it } from 'vitest';
import {
  createLocation,
  startAgentProcess,
  startServiceProcess,
  until,
} from '../../helpers/picket-process.ts';
import { countStale, readLedger } from '../../helpers/service/ledger-view.ts';
import { killAndTakeOver } from '../../helpers/service/takeover.ts';
import { startHoldingTarget } from '../../helpers/targets/holding-target.ts';

describe('an agent that dies', () => {
  it('loses no run: another agent finishes all 50, none twice', { timeout: 150_000 }, async () => {
    const { inFlight, finalOnce, doubled } = await killAndTakeOver(50);
    expect(inFlight).toBeGreaterThanOrEqual(50);
    expect({ finalOnce, doubled }).toEqual({ finalOnce: inFlight, doubled: 0 });
  });
});

describe('an agent that was frozen', () => {
  it('notices that it is too late: its results do not count', { timeout: 120_000 }, async () => {
    await using target = await startHoldingTarget();
    await using service = await startServiceProcess();
    const location = await createLocation(service, 'frozen');
    const { id: checkId } = await service.api<{ id: string }>('POST', '/v1/checks/url', {
      name: 'held',
      frequency: 0,
      frequencyOffset: 30,
      privateLocations: [location.slugName],
      request: { url: `${target.url}/held` },
    });
    const connection = { serviceUrl: service.url, key: location.key };
    await using frozen = await startAgentProcess(connection, { AGENT_ID: 'frozen' });
    await until('the run is in flight', () => target.waiting().length > 0, {
      timeoutMs: 60_000,
      process: frozen.process,
    });
    frozen.process.child.kill('SIGSTOP');
    target.release(); // the response waits in the socket of the frozen process

    await using healthy = await startAgentProcess(connection, { AGENT_ID: 'healthy' });
    const firstRun = () => readLedger(service.dataDir).sort((a, b) => a.slotAt - b.slotAt)[0];
    await until('the other agent finished the run', () => firstRun()?.state === 'final', {
      timeoutMs: 60_000,
      process: healthy.process,
    });
    frozen.process.child.kill('SIGCONT');
    // Evidence found before it noticed is sent, and the service fences it; usually it notices first.
    const isNoticed = () =>
      frozen.process.output().includes('lease ended before its result') || countStale(service.dataDir) > 0;
    await until('it noticed', isNoticed, { process: frozen.process });
    frozen.process.child.kill('SIGTERM');
    await frozen.process.ended;

    expect(firstRun()).toMatchObject({ state: 'final', finals: 1, agentId: 'healthy' });
    const results = await service.api<{ scheduledAt: string }[]>(
      'GET',
      `/v1/check-results/${checkId}?resultType=ALL`,
    );
    const ofFirstSlot = results.filter(({ scheduledAt }) => Date.parse(scheduledAt) === firstRun()?.slotAt);
    expect(ofFirstSlot).toHaveLength(1);
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { DirectoryStore } from '../../../../src/platform/artifact-store/directory-store.ts';
import type { LeasedRun } from '../../../../src/protocol/agent/agent.ts';
import { AlertTimers } from '../../../../src/service/alerts/timers.ts';
import { ServiceMetrics } from '../../../../src/service/metrics/metrics.ts';
import { LeaseSweep } from '../../../../src/service/retention/lease-sweep.ts';
import { Scheduler } from '../../../../src/service/runs/scheduler.ts';
import {
  createCheck,
  createLocation,
  quietLogger,
  reportOf,
  TestAgent,
  temporaryFolder,
} from '../../../helpers/service/service.ts';
import { leaseTtlMs } from '../store-suites/stage.ts';
import { type AlertStage, minuteMs, ownSettings } from './alert-stage.ts';

const stepMs = 10_000;

/** The only agent of a location dies while many checks run there. */
export function deadAgentSuite(stage: AlertStage): void {
  it('cause one mail, however many checks ran there and however often, and another one when one is back', async () => {
    await stage.start();
    const mail = await stage.channel('EMAIL', { address: 'ops@example.test' });
    const place = await createLocation(stage.harness, 'cellar');
    const fields = { ...ownSettings, privateLocations: ['cellar'] };
    // Slots of these are missed before the location has been without an agent for two minutes.
    for (const frequencyOffset of [10, 20, 30])
      await createCheck(stage.harness, { ...fields, frequency: 0, frequencyOffset });
    await createCheck(stage.harness, { ...fields, frequency: 1 });
    // The next slots of some of these are due when their first missed slot is fifteen minutes old.
    for (let frequencyOffset = 1; frequencyOffset <= 20; frequencyOffset += 1)
      await createCheck(stage.harness, { ...fields, frequency: 2, frequencyOffset });

    const pass = await passing(stage);
    await pass(2 * minuteMs, agentOf(new TestAgent(stage.harness, place, 'first')));
    const dying = new TestAgent(stage.harness, place, 'first');
    // It holds runs when it dies.
    await pass(stepMs, async () => {
      await dying.claim();
    });
    await pass(14.5 * minuteMs);
    expect(await notices(stage)).toEqual([['ALERT_LOCATION_AWAY', 'cellar', mail]]);
    // The first missed slots are fifteen minutes old before any run of the next agent has ended.
    const next = new TestAgent(stage.harness, place, 'second');
    const held: LeasedRun[] = [];
    await pass(minuteMs, async () => {
      held.push(...(await next.claim()));
      await next.renew(held);
    });
    await next.report(held.map((run) => reportOf(run)));
    await pass(3 * minuteMs, agentOf(next));
    expect(await notices(stage)).toEqual([
      ['ALERT_LOCATION_AWAY', 'cellar', mail],
      ['ALERT_LOCATION_BACK', 'cellar', mail],
    ]);
    expect((await stage.harness.call('GET', '/v1/monitoring-gaps')).body).toEqual([]);
  });
}

async function notices(stage: AlertStage) {
  const all = await stage.notifications();
  return all
    .map(({ alertType, checkName, alertChannelId }) => [alertType, checkName, alertChannelId])
    .toReversed();
}

/** One work cycle of an agent with free slots. */
function agentOf(agent: TestAgent): () => Promise<void> {
  return async () => {
    const runs = await agent.claim();
    if (runs.length > 0) await agent.report(runs.map((run) => reportOf(run)));
  };
}

/** Advances time in small steps; in each step the jobs of the service run and an agent works. */
async function passing(stage: AlertStage) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const { clock } = stage;
  const { store } = stage.harness;
  const deps = { store, clock, logger: quietLogger, metrics: new ServiceMetrics() };
  const scheduler = new Scheduler({ ...deps, recordAgentless: async () => false });
  const artifactStore = await DirectoryStore.open(folder.path);
  const sweep = new LeaseSweep({ ...deps, artifactStore, leaseTtlMs });
  const timers = new AlertTimers({ store, clock });
  return async (ms: number, work?: () => Promise<void>) => {
    for (let left = ms; left > 0; left -= stepMs) {
      clock.advance(stepMs);
      await scheduler.turn();
      await work?.();
      await sweep.turn();
      await timers.turn();
    }
  };
}

import { expect, it } from 'vitest';
import { OutdatedAgentsWatch } from '../../../../src/service/locations/outdated.ts';
import { createCheck, createLocation, TestAgent } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Locations without agents: reported once at the beginning and once at the end. */
export function outageSuite(stage: AlertStage): void {
  const notices = async () =>
    (await stage.notifications()).map(({ alertType, checkName, alertChannelId }) => [
      alertType,
      checkName,
      alertChannelId,
    ]);
  const location = async (id: string) =>
    (await stage.harness.call('GET', `/v1/private-locations/${id}`)).body as {
      agentCount: number;
      noAgentSince: string | null;
    };

  it('are reported once, and once more when an agent is back', async () => {
    await stage.start();
    const channel = await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'all', method: 'POST' });
    await stage.channel(
      'WEBHOOK',
      { url: 'http://x.test', name: 'none', method: 'POST' },
      {
        sendFailure: false,
        sendRecovery: false,
      },
    );
    const quiet = await createLocation(stage.harness, 'quiet');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      ids.push((await createCheck(stage.harness, { name, privateLocations: ['quiet'] })).id);
    }
    stage.harness.startLeaseSweep();
    for (const id of ids) await stage.queueNextSlot(id);
    const firstSlots = await Promise.all(ids.map(async (id) => (await stage.runsOf(id))[0]?.slot_at ?? 0));
    const missed = async () =>
      (await Promise.all(ids.map((id) => stage.runsOf(id))))
        .flat()
        .filter(({ reason }) => reason === 'no-agent').length;
    await stage.advanceUntil('all are missed', async () => {
      stage.clock.advance(500);
      return (await missed()) >= 3;
    });
    // The first missed slot began it; the others had no effect.
    expect(await notices()).toEqual([['ALERT_LOCATION_AWAY', 'quiet', channel]]);
    const { agentCount, noAgentSince } = await location(quiet.id);
    expect(agentCount).toBe(0);
    expect(firstSlots).toContain(Date.parse(noAgentSince ?? ''));
    // It is not about a check.
    expect((await stage.harness.call('GET', '/v1/check-alerts')).body).toEqual([]);

    const agent = new TestAgent(stage.harness, quiet);
    await agent.claim();
    await agent.claim();
    expect((await notices()).toReversed()).toEqual([
      ['ALERT_LOCATION_AWAY', 'quiet', channel],
      ['ALERT_LOCATION_BACK', 'quiet', channel],
    ]);
    expect((await location(quiet.id)).noAgentSince).toBeNull();
  });

  it('of current agents are reported after an hour of outdated ones, and once when none is left', async () => {
    await stage.start();
    const url = 'http://x.test';
    const flags = { sendDegraded: true };
    const channel = await stage.channel('WEBHOOK', { url, name: 'all', method: 'POST' }, flags);
    await stage.channel('WEBHOOK', { url, name: 'failures only', method: 'POST' });
    const place = await createLocation(stage.harness, 'old');
    await createCheck(stage.harness, { privateLocations: ['old'] });
    const [old, current] = ['a', 'b'].map((name) => new TestAgent(stage.harness, place, name));
    const watch = new OutdatedAgentsWatch(stage.harness);
    /** After that time each agent claims, and the watch looks. */
    const pass = async (minutes: number, agents: readonly (readonly [TestAgent | undefined, string])[]) => {
      stage.clock.advance(minutes * minuteMs);
      for (const [agent, version] of agents) await agent?.claim({ version });
      await watch.turn();
    };
    const both = [
      [old, '7.9.0'],
      [current, '8.0.0'],
    ] as const;
    // A rolling upgrade: nothing is sent.
    await pass(0, both);
    await pass(50, both);
    await pass(4, [both[1]]);
    await pass(10, both);
    await pass(59, both);
    expect(await notices()).toEqual([]);
    await pass(1, both);
    expect(await notices()).toEqual([['ALERT_LOCATION_OUTDATED', 'old', channel]]);
    const { body: entries } = await stage.harness.call('GET', '/v1/alert-entries');
    expect(entries).toMatchObject([{ kind: 'LOCATION', severity: 'OUTDATED', name: 'old' }]);
    const path = `/v1/private-locations/${place.id}`;
    expect((await stage.harness.call('GET', path)).body.agentsOutdatedSince).toMatch(/^\d{4}/);
    // A restart of the outdated agent is no end, and another leader sends nothing again.
    await pass(3, [both[1]]);
    await pass(1, both);
    await new OutdatedAgentsWatch(stage.harness).turn();
    expect(await notices()).toHaveLength(1);
    await pass(3, [both[1]]);
    await pass(5, [both[1]]);
    expect((await notices()).map(([type]) => type).sort()).toEqual([
      'ALERT_LOCATION_CURRENT',
      'ALERT_LOCATION_OUTDATED',
    ]);
    expect((await stage.harness.call('GET', path)).body.agentsOutdatedSince).toBeNull();
  });

  it('that a silence holds are reported when it ends, if they last', async () => {
    await stage.start();
    await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'all', method: 'POST' });
    for (const lasts of [true, false]) {
      const slug = lasts ? 'long' : 'short';
      const place = await createLocation(stage.harness, slug);
      const { id } = await createCheck(stage.harness, { privateLocations: [slug] });
      const { body: silence } = await stage.harness.call('POST', '/v1/silences', {
        ...{ location: slug, minutes: 600 },
      });
      stage.harness.startLeaseSweep();
      await stage.queueNextSlot(id);
      await stage.advanceUntil('the slot is missed', async () => {
        stage.clock.advance(500);
        return (await location(place.id)).noAgentSince !== null;
      });
      expect((await notices()).filter(([, name]) => name === slug)).toEqual([]);
      if (!lasts) await new TestAgent(stage.harness, place).claim();
      expect((await stage.harness.call('DELETE', `/v1/silences/${silence.id}`)).status).toBe(204);
    }
    stage.harness.startAlerting();
    await stage.advanceUntil('nothing is held any more', async () => {
      return (await stage.harness.store.alerts.nextHeldAt()) === null;
    });
    expect((await notices()).map(([type, name]) => [type, name])).toEqual([['ALERT_LOCATION_AWAY', 'long']]);
  });

  it('start anew after they were over', async () => {
    await stage.start();
    await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'all', method: 'POST' });
    const quiet = await createLocation(stage.harness, 'quiet');
    const { id } = await createCheck(stage.harness, { privateLocations: ['quiet'] });
    stage.harness.startLeaseSweep();
    const agent = new TestAgent(stage.harness, quiet);
    for (const times of [1, 2]) {
      await stage.queueNextSlot(id);
      await stage.advanceUntil('the slot is missed', async () => {
        stage.clock.advance(500);
        const missed = (await stage.runsOf(id)).filter(({ reason }) => reason === 'no-agent');
        return missed.length >= times;
      });
      await agent.claim();
      // Long enough for the agent to count as away.
      stage.clock.advance(3 * minuteMs);
    }
    expect((await notices()).map(([type]) => type).toReversed()).toEqual([
      'ALERT_LOCATION_AWAY',
      'ALERT_LOCATION_BACK',
      'ALERT_LOCATION_AWAY',
      'ALERT_LOCATION_BACK',
    ]);
  });

  it('are not reported while a present agent is only busy', async () => {
    await stage.start();
    await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'all', method: 'POST' });
    const id = await stage.check();
    stage.harness.startLeaseSweep();
    await stage.queueNextSlot(id);
    await stage.advanceUntil('the slot is missed', async () => {
      stage.clock.advance(500);
      await stage.agent.claim({ freeSlots: { probe: 0, script: 0 } });
      return (await stage.runsOf(id))[0]?.state === 'missed';
    });
    expect(await notices()).toEqual([]);
  });
}

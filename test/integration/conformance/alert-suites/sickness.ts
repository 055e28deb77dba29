import { expect, it } from 'vitest';
import { AlertTimers } from '../../../../src/service/alerts/timers.ts';
import { createCheck, createLocation, TestAgent } from '../../../helpers/service/service.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Unhealthy locations: the events that agents report are listed, and notified once. */
export function sicknessSuite(stage: AlertStage): void {
  const event = (fields: object = {}) => ({
    eventId: crypto.randomUUID(),
    kind: 'resolver',
    evidence: 'the name servers (10.0.0.53) do not answer: ETIMEOUT',
    affectedRuns: 0,
    startedAt: stage.clock.wallMs(),
    endedAt: null as number | null,
    ...fields,
  });
  const notices = async () =>
    (await stage.notifications()).map(({ alertType, checkName }) => [alertType, checkName]).toReversed();
  const wait = async (ms: number) => {
    const { store } = stage.harness;
    stage.clock.advance(ms);
    await new AlertTimers({ store, clock: stage.clock }).turn();
  };
  const open = async () => {
    await stage.start();
    const channel = await stage.channel('WEBHOOK', { url: 'http://x.test', name: 'all', method: 'POST' });
    const office = await createLocation(stage.harness, 'office');
    await createCheck(stage.harness, { privateLocations: ['office'] });
    const tell = async (agentId: string, ...events: object[]) => {
      const agent = new TestAgent(stage.harness, office, agentId);
      return agent.call('location-events', { ...agent.identity, events });
    };
    const list = async () =>
      (await stage.harness.call('GET', `/v1/private-locations/${office.id}/events`)).body;
    return { channel, office, tell, list };
  };

  it('are reported once, however many agents detect it, and once when the last is healthy again', async () => {
    const { tell } = await open();
    const [one, other] = [event(), event()];
    expect((await tell('a', one)).status).toBe(200);
    await tell('a', { ...one, affectedRuns: 3 });
    await tell('b', other);
    expect(await notices()).toEqual([['ALERT_LOCATION_SICK', 'office']]);
    await tell('a', { ...one, endedAt: stage.clock.wallMs() });
    expect(await notices()).toHaveLength(1);
    const end = { ...other, endedAt: stage.clock.wallMs() };
    await tell('b', end);
    // An agent reports again if the response was lost.
    await tell('b', end);
    await wait(5 * minuteMs - 1);
    expect(await notices()).toHaveLength(1);
    await wait(1);
    expect(await notices()).toEqual([
      ['ALERT_LOCATION_SICK', 'office'],
      ['ALERT_LOCATION_WELL', 'office'],
    ]);
    // It is not about a check.
    expect((await stage.harness.call('GET', '/v1/check-alerts')).body).toEqual([]);
  });

  it('that flap are reported once, and once more after five minutes without problems', async () => {
    const { tell } = await open();
    const flap = async (kind: string) => {
      const one = event({ kind });
      await tell('a', one);
      stage.clock.advance(5_000);
      await tell('a', { ...one, endedAt: stage.clock.wallMs() });
      stage.clock.advance(5_000);
    };
    for (let round = 0; round < 3; round += 1) await flap('resolver');
    const other = event({ kind: 'clock' });
    await tell('a', other);
    stage.clock.advance(4 * minuteMs);
    await tell('a', other);
    await flap('resolver');
    stage.clock.advance(2 * minuteMs);
    await tell('a', { ...other, endedAt: stage.clock.wallMs() });
    const types = async () => (await notices()).map(([type]) => type);
    const begun = Array(2).fill('ALERT_LOCATION_SICK');
    await wait(4 * minuteMs);
    expect(await types()).toEqual(begun);
    await wait(minuteMs);
    expect(await types()).toEqual([...begun, 'ALERT_LOCATION_WELL']);
    await wait(10 * minuteMs);
    expect(await types()).toHaveLength(3);
  });

  it('are listed with their last report', async () => {
    const { tell, list } = await open();
    const lasting = event({ startedAt: stage.clock.wallMs() - 1000 });
    await tell('a', lasting);
    await tell('a', { ...lasting, affectedRuns: 7, evidence: 'still silent' });
    expect(await list()).toMatchObject([
      {
        id: lasting.eventId,
        agentId: 'a',
        kind: 'resolver',
        evidence: 'still silent',
        affectedRuns: 7,
        endedAt: null,
      },
    ]);
    // Its agent disappeared without a report.
    stage.clock.advance(6 * minuteMs);
    const [ended] = await list();
    expect(Date.parse(ended.endedAt)).toBe(stage.clock.wallMs() - 6 * minuteMs);
    // The next event is still notified.
    await tell('b', event());
    expect(await notices()).toHaveLength(2);
  });

  it('that are healthy again when first reported are listed, but not notified', async () => {
    const { tell, list } = await open();
    await tell('a', event({ endedAt: stage.clock.wallMs() }));
    expect(await list()).toHaveLength(1);
    expect(await notices()).toEqual([]);
  });

  it('belong to one account', async () => {
    const { office, tell } = await open();
    await tell('a', event());
    const foreign = await createLocation(stage.harness, 'foreign');
    const stranger = new TestAgent(stage.harness, foreign);
    const [first] = (await stage.harness.call('GET', `/v1/private-locations/${office.id}/events`)).body;
    const taken = event({ eventId: first.id, evidence: 'not yours' });
    await stranger.call('location-events', { ...stranger.identity, events: [taken] });
    const [after] = (await stage.harness.call('GET', `/v1/private-locations/${office.id}/events`)).body;
    expect(after).toEqual(first);
  });
}

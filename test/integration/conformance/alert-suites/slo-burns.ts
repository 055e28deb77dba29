import { beforeEach, expect, it } from 'vitest';
import { BurnWatch } from '../../../../src/service/slos/burn-watch.ts';
import { type AlertStage, minuteMs } from './alert-stage.ts';

/** Objectives whose error budget burns too fast. */
export function sloBurnSuite(stage: AlertStage): void {
  const url = 'http://x.test';
  let channel: number;
  let id: string;
  beforeEach(async () => {
    await stage.start();
    channel = await stage.channel('WEBHOOK', { url, name: 'of the check', method: 'POST' });
    id = await stage.check({
      name: 'Shop',
      tags: ['shop'],
      alertSettings: { monitoringGap: { enabled: false } },
    });
  });

  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const objective = async (fields: object = {}) => {
    const answer = await call('POST', '/v1/slos', {
      name: 'Shop works',
      checkId: id,
      target: 99.9,
      ...fields,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.id as number;
  };
  const burns = async () => (await call('GET', '/v1/slo-burns')).body;
  const news = async () =>
    (await stage.notifications())
      .toReversed()
      .filter(({ alertType }) => alertType.startsWith('ALERT_SLO'))
      .map(({ alertType, alertChannelId }) => [alertType, alertChannelId]);
  const untilNews = (count: number) =>
    stage.advanceUntil('the burn is notified', async () => {
      stage.clock.advance(500);
      return (await news()).length >= count;
    });
  const pass = async () => {
    stage.clock.advance(31 * minuteMs);
    await stage.runs(id, 'passed');
  };

  it('notifies the channels of its checks once, and once when it is over', async () => {
    const slo = await objective();
    await stage.runs(id, 'failed', 'failed', 'failed');
    stage.harness.startSloBurns();
    await untilNews(1);
    expect(await news()).toEqual([['ALERT_SLO_BURN', channel]]);
    expect(await burns()).toMatchObject([
      {
        sloId: slo,
        name: 'Shop works',
        window: 'HOUR',
        explanation: expect.stringContaining('3 of 3 runs failed in the last hour'),
      },
    ]);
    expect((await call('GET', `/v1/slos/${slo}/status`)).body.burningSince).toBe((await burns())[0].since);
    const metrics = await call('GET', '/metrics');
    expect(metrics.body).toMatch(/picket_slo_burns_open\{account="[^"]+"\} 1\n/);
    await pass();
    await untilNews(2);
    expect((await news()).at(-1)).toEqual(['ALERT_SLO_BURN_OVER', channel]);
    expect(await burns()).toEqual([]);
  });

  it('is sent to its own channels, and ends when the objective is deleted', async () => {
    const own = await stage.channel('WEBHOOK', { url, name: 'own', method: 'POST' });
    const slo = await objective({ alertChannelIds: [own] });
    await stage.runs(id, 'failed', 'failed', 'failed');
    stage.harness.startSloBurns();
    await untilNews(1);
    expect((await call('DELETE', `/v1/slos/${slo}`)).status).toBe(204);
    await untilNews(2);
    expect(await news()).toEqual([
      ['ALERT_SLO_BURN', own],
      ['ALERT_SLO_BURN_OVER', own],
    ]);
  });

  it('begins when the silence of its check is over, if it still burns', async () => {
    const { body: silence } = await call('POST', '/v1/silences', { checkId: id, minutes: 600 });
    await objective();
    await objective({ name: 'off', burnAlert: { enabled: false } });
    await stage.runs(id, 'failed', 'failed', 'failed');
    stage.harness.startSloBurns();
    for (let step = 0; step < 3; step += 1) {
      stage.clock.advance(minuteMs / 2);
      await stage.runs(id, 'failed');
    }
    expect(await burns()).toEqual([]);
    expect((await call('DELETE', `/v1/silences/${silence.id}`)).status).toBe(204);
    await untilNews(1);
    expect((await burns()).map(({ name }: { name: string }) => name)).toEqual(['Shop works']);
  });

  it('is evaluated a minute later, even if its clock was set ahead during the evaluation', async () => {
    await objective();
    const { clock } = stage;
    let looks = 0;
    const report = async () => {
      looks += 1;
      clock.advance(60 * minuteMs);
      return new Map();
    };
    const watch = new BurnWatch({
      ...{ store: stage.harness.store, clock },
      analytics: { report } as unknown as ConstructorParameters<typeof BurnWatch>[0]['analytics'],
    });
    const next = await watch.turn();
    expect(looks).toBe(4);
    expect(next).toBeLessThanOrEqual(clock.wallMs() + minuteMs);
  });

  it('refuses channels that the account does not have, and changes one part of its burn alert', async () => {
    const refused = await call('POST', '/v1/slos', {
      ...{ name: 'x', checkId: id, target: 99, alertChannelIds: [channel, 987_654] },
    });
    expect(refused.body.validation.keys).toEqual(['alertChannelIds']);
    const slo = await objective();
    const { body } = await call('PUT', `/v1/slos/${slo}`, { burnAlert: { percentInHour: 4 } });
    expect(body.burnAlert).toEqual({
      ...{ enabled: true, percentInHour: 4, percentInSixHours: 5, minFailedRuns: 3 },
    });
  });
}

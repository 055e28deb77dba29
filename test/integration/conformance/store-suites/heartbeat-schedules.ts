import { expect, it } from 'vitest';
import { HeartbeatWatch } from '../../../../src/service/heartbeats/watch.ts';
import { quietLogger } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pings that are expected at times of a calendar: cron expressions, and calendar events of systemd. */
export function heartbeatScheduleSuite(stage: StoreStage): void {
  const create = async (schedule: object, heartbeat: object = {}) => {
    const body = { name: 'nightly', heartbeat: { schedule, grace: 30, graceUnit: 'minutes', ...heartbeat } };
    const answer = await stage.harness.call('POST', '/v1/checks/heartbeat', body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body as { id: string; heartbeat: { pingUrl: string } };
  };
  type Made = Awaited<ReturnType<typeof create>>;
  const ping = ({ heartbeat }: Made, ending = '') =>
    stage.harness.call('GET', `${heartbeat.pingUrl}${ending}`, undefined, { key: null });
  const timer = async ({ id }: Made) =>
    (await stage.harness.call('GET', `/v1/checks/heartbeats/${id}/timer`)).body;
  const states = async ({ id }: Made) =>
    (
      await stage.harness.call('GET', `/v1/checks/heartbeats/${id}/events?startTime=2027-01-01T00:00:00Z`)
    ).body[0].events.map(({ state }: { state: string }) => state);
  const to = (time: string) => stage.clock.advance(Date.parse(time) - stage.clock.wallMs());

  it('expects pings at the times of a schedule, in its zone, across daylight saving', async () => {
    await stage.start();
    to('2027-03-27T12:00:00Z');
    const check = await create({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' });
    expect(await timer(check)).toEqual({
      ...{ lastAt: null, expectedAt: null, failsAt: null },
      nextTimes: expect.arrayContaining(['2027-03-28T01:00:00.000Z', '2027-03-29T00:30:00.000Z']),
    });
    await ping(check);
    // 02:30 does not exist on that day: cron runs the job right after the gap.
    expect(await timer(check)).toMatchObject({
      expectedAt: '2027-03-28T01:00:00.000Z',
      failsAt: '2027-03-28T01:30:00.000Z',
    });
    // A ping hours before is not the one that is expected; one a little before is.
    stage.clock.advance(hour);
    await ping(check);
    expect((await timer(check)).expectedAt).toBe('2027-03-28T01:00:00.000Z');
    to('2027-03-28T00:59:57Z');
    await ping(check);
    expect((await timer(check)).expectedAt).toBe('2027-03-29T00:30:00.000Z');
    to('2027-03-29T00:45:00Z');
    await ping(check);
    expect(await states(check)).toEqual(['GRACE', 'RECEIVED', 'EARLY', 'RECEIVED']);
    expect((await timer(check)).nextTimes).toHaveLength(10);
  });

  /** One look of the watch, which last looked at `lookedAt`. */
  const look = async (lookedAt: string) => {
    const { store } = stage.harness;
    await store.heartbeats.recordLook(Date.parse(lookedAt));
    await new HeartbeatWatch({ store, clock: stage.clock, logger: quietLogger }).turn();
  };

  it('records a missed time once, and waits for the next one', async () => {
    await stage.start();
    to('2027-05-01T06:00:00Z');
    const check = await create({ onCalendar: 'Mon..Fri 09:00 Europe/Berlin' });
    await ping(check);
    expect((await timer(check)).failsAt).toBe('2027-05-03T07:30:00.000Z');
    to('2027-05-03T07:30:00.001Z');
    await look('2027-05-03T07:29:59Z');
    const [result] = (await stage.harness.call('GET', `/v1/check-results/${check.id}`)).body;
    expect(result.failure).toMatchObject({
      code: 'PING_MISSED',
      message: 'No ping came within 30 min after its time by "Mon..Fri 09:00 Europe/Berlin".',
    });
    expect((await timer(check)).expectedAt).toBe('2027-05-04T07:00:00.000Z');
    await look('2027-05-03T07:29:59Z');
    expect(await states(check)).toEqual(['FAILING', 'RECEIVED']);
  });

  it('does not count the times while no process could take pings, and records each of them', async () => {
    await stage.start();
    to('2027-06-04T10:00:00Z');
    const check = await create({ cron: '0 9-11 * * MON-FRI' }, { grace: 5 });
    await ping(check);
    // From Friday to Monday: 11:00, and 9:00 to 11:00.
    to('2027-06-07T11:30:00Z');
    await look('2027-06-04T10:00:00Z');
    expect(await states(check)).toEqual(['RECEIVED']);
    expect((await timer(check)).expectedAt).toBe('2027-06-08T09:00:00.000Z');
    expect(await stage.harness.store.runs.countSlots(check.id)).toEqual({ final: 1, missed: 4 });
  });

  it('keeps what it waits for when other fields change, and follows another schedule from then on', async () => {
    await stage.start();
    to('2027-07-01T12:00:00Z');
    const check = await create({ cron: '0 13 * * *' });
    const change = async (heartbeat: object, fields: object = {}) => {
      const path = `/v1/checks/heartbeat/${check.id}`;
      const { status, body } = await stage.harness.call('PUT', path, { heartbeat, ...fields });
      expect(status, JSON.stringify(body)).toBe(200);
    };
    await ping(check);
    to('2027-07-01T13:10:00Z');
    await change({ grace: 1, graceUnit: 'hours' }, { name: 'renamed' });
    expect(await timer(check)).toMatchObject({
      expectedAt: '2027-07-01T13:00:00.000Z',
      failsAt: '2027-07-01T14:00:00.000Z',
    });
    await change({ schedule: { cron: '0 12 * * *' } });
    expect((await timer(check)).expectedAt).toBe('2027-07-02T12:00:00.000Z');
    await change({ schedule: null, period: 2, periodUnit: 'hours' });
    expect(await timer(check)).toMatchObject({ expectedAt: '2027-07-01T14:00:00.000Z', nextTimes: [] });
    await change({ schedule: { onCalendar: '2027-07-03 08:00' }, period: null });
    to('2027-07-03T08:00:02Z');
    await ping(check);
    expect(await timer(check)).toMatchObject({ expectedAt: null, failsAt: null, nextTimes: [] });
  });

  it('refuses what is no schedule, and names the field', async () => {
    await stage.start();
    for (const [heartbeat, key] of [
      [{ schedule: { cron: '0 3 * *' } }, 'heartbeat.schedule.cron'],
      [{ schedule: { onCalendar: 'sometimes' } }, 'heartbeat.schedule.onCalendar'],
      [{ schedule: { cron: '@daily', onCalendar: 'daily' } }, 'heartbeat.schedule.cron'],
      [{ schedule: {} }, 'heartbeat.schedule.cron'],
      [{ schedule: { cron: '@daily', timeZone: 'Mars/Olympus' } }, 'heartbeat.schedule.timeZone'],
      [{ schedule: { cron: '@daily' }, period: 1, periodUnit: 'days' }, 'heartbeat.schedule'],
      [{ schedule: { cron: '@daily', every: 1 } }, 'heartbeat.schedule.every'],
      [{}, 'heartbeat.period'],
      [{ period: 1 }, 'heartbeat.periodUnit'],
    ] as const) {
      const body = { name: 'nightly', heartbeat: { grace: 0, graceUnit: 'seconds', ...heartbeat } };
      const answer = await stage.harness.call('POST', '/v1/checks/heartbeat', body);
      expect([answer.status, answer.body.validation?.keys]).toEqual([400, [key]]);
    }
  });

  it('shows the next times of any schedule', async () => {
    await stage.start();
    to('2027-08-01T00:00:00Z');
    const next = (query: string) => stage.harness.call('GET', `/v1/schedule-times?${query}`);
    expect((await next('cron=0%203%20*%20*%20*&timeZone=Asia/Tokyo&limit=2')).body).toEqual({
      timeZone: 'Asia/Tokyo',
      times: ['2027-08-01T18:00:00.000Z', '2027-08-02T18:00:00.000Z'],
    });
    expect((await next('onCalendar=daily')).body.times).toHaveLength(10);
    expect((await next('cron=60+*+*+*+*')).body.validation).toEqual({ source: 'query', keys: ['cron'] });
    expect((await next('')).status).toBe(400);
  });
}

import { expect, it } from 'vitest';
import { Maintenance } from '../../../../src/service/maintenance/maintenance.ts';
import { createCheck } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;

/** Maintenance windows: the slots that they skip, and the record of each skipped slot. */
export function maintenanceSuite(stage: StoreStage): void {
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const iso = (epochMs: number) => new Date(epochMs).toISOString();
  const around = (fields: object = {}) => ({
    name: 'release',
    startsAt: iso(stage.clock.wallMs() - minuteMs),
    endsAt: iso(stage.clock.wallMs() + 60 * minuteMs),
    ...fields,
  });
  const post = async (fields: object = {}) => {
    const answer = await call('POST', '/v1/maintenance-windows', around(fields));
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  };
  const silences = async (tags: string[], inMs = 0) => {
    const at = stage.clock.wallMs() + inMs;
    const loaded = await Maintenance.load(stage.harness.store, [stage.harness.accountId], {
      from: at,
      to: at,
    });
    return loaded.silencedUntil(stage.harness.accountId, tags, at) !== null;
  };

  it('records the slots of paused checks as missed, and counts every slot once', async () => {
    await stage.start();
    const group = await call('POST', '/v1/check-groups', { name: 'g', tags: ['db'] });
    const fields = { privateLocations: ['lab'] };
    const own = await createCheck(stage.harness, { ...fields, tags: ['db'] });
    const grouped = await createCheck(stage.harness, { ...fields, groupId: group.body.id });
    const other = await createCheck(stage.harness, { ...fields, tags: ['web'] });
    const window = await post({ tags: ['db'] });
    const firstSlotAt =
      (await stage.harness.store.checks.find(stage.harness.accountId, own.id))?.slots.nextSlotAt ?? 0;
    for (const check of [own, grouped, other]) await stage.queueNextSlot(check.id);
    await stage.advanceUntil(
      'both slots are recorded',
      async () => (await stage.runsOf(grouped.id)).length > 0,
    );
    for (const check of [own, grouped]) {
      expect((await stage.runsOf(check.id))[0]).toMatchObject({
        state: 'missed',
        reason: 'paused-by-maintenance',
      });
    }
    expect((await stage.runsOf(other.id))[0]?.state).toBe('queued');
    expect((await stage.agent.claim()).every(({ check }) => check.id === other.id)).toBe(true);
    expect((await call('DELETE', `/v1/maintenance-windows/${window.id}`)).status).toBe(204);
    await stage.queueNextSlot(own.id);
    const slots = await stage.harness.store.runs.countSlots(own.id);
    const runs = await stage.runsOf(own.id);
    const due = Math.round(((runs.at(-1)?.slot_at ?? 0) - firstSlotAt) / minuteMs) + 1;
    expect(Object.values(slots).reduce((sum, count) => sum + count, 0)).toBe(due);
    expect(runs.at(-1)?.state).toBe('queued');
  });

  it('pauses every check of its account and of no other, while an occurrence lasts', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    const stranger = await stage.harness.addAccount();
    const body = around({ pauseAllChecks: true, silenceAllAlerts: true });
    expect((await stage.harness.call('POST', '/v1/maintenance-windows', body, stranger)).status).toBe(201);
    await stage.queueNextSlot(check.id);
    expect((await stage.runsOf(check.id))[0]?.state).toBe('queued');
    expect(await silences([])).toBe(false);
    await post({
      pauseAllChecks: true,
      startsAt: iso(stage.clock.wallMs() - dayMs),
      endsAt: iso(stage.clock.wallMs() - dayMs + 60 * minuteMs),
      repeatInterval: 1,
      repeatUnit: 'DAY',
    });
    await stage.queueNextSlot(check.id);
    expect((await stage.runsOf(check.id)).at(-1)?.reason).toBe('paused-by-maintenance');
  });

  it('silences alerts by tag or all of them, and no longer than it lasts', async () => {
    await stage.start();
    const window = await post({ silenceAlertsTags: ['db'] });
    expect(await silences(['db', 'x'])).toBe(true);
    expect(await silences(['web'])).toBe(false);
    expect(await silences(['db'], 60 * minuteMs)).toBe(false);
    await call('PUT', `/v1/maintenance-windows/${window.id}`, { silenceAllAlerts: true });
    expect(await silences([])).toBe(true);
  });

  it('keeps windows and lists their occurrences', async () => {
    await stage.start();
    const window = await post({
      startsAt: '2030-01-31T22:00:00+02:00',
      endsAt: '2030-01-31T23:00:00+02:00',
      repeatInterval: 1,
      repeatUnit: 'MONTH',
      repeatEndsAt: '2030-04-30T20:00:00Z',
      statusPageVisibility: { enabled: true },
    });
    const path = `/v1/maintenance-windows/${window.id}`;
    expect((await call('GET', path)).body).toEqual(window);
    const starts = async (query: string) =>
      (await call('GET', `${path}/maintenances?${query}`)).body.map(
        ({ id, startsAt }: { id: number; startsAt: string }) => [id, startsAt],
      );
    expect(await starts('limit=2')).toEqual([
      [1, '2030-01-31T20:00:00.000Z'],
      [2, '2030-02-28T20:00:00.000Z'],
    ]);
    expect(await starts('limit=3&page=2')).toEqual([[4, '2030-04-30T20:00:00.000Z']]);
    expect(await starts('limit=50&page=1000000000')).toEqual([]);
    expect(await starts('from=2030-03-01')).toEqual([
      [3, '2030-03-31T20:00:00.000Z'],
      [4, '2030-04-30T20:00:00.000Z'],
    ]);
    expect((await call('GET', `${path}/maintenances/2`)).body).toEqual({
      id: 2,
      maintenanceWindowId: window.id,
      name: 'release',
      startsAt: '2030-02-28T20:00:00.000Z',
      endsAt: '2030-02-28T21:00:00.000Z',
      status: 'SCHEDULED',
      updates: [],
    });
    expect((await call('GET', `${path}/maintenances/5`)).status).toBe(404);
    const idsOf = async (query: string) =>
      (await call('GET', `/v1/maintenance-windows?${query}`)).body.map(({ id }: { id: number }) => id);
    expect(await idsOf('startsAt=2030-05-01')).toEqual([]);
    expect(await idsOf('startsAt=2030-04-30T20:59:00Z&endsAt=2031-01-01')).toEqual([window.id]);
    expect(await idsOf('endsAt=2030-01-31T19:59:00Z')).toEqual([]);
    const changed = await call('PUT', path, {
      repeatInterval: null,
      repeatUnit: null,
      repeatEndsAt: null,
      statusPageVisibility: { severity: 'MAJOR' },
    });
    expect(changed.body).toMatchObject({
      name: 'release',
      statusPageVisibility: { enabled: true, severity: 'MAJOR' },
    });
    expect(await starts('')).toEqual([[1, '2030-01-31T20:00:00.000Z']]);
    expect((await call('PUT', path, { endsAt: '2030-01-31T20:00:00Z' })).status).toBe(200);
    const wrong = await call('PUT', path, { endsAt: '2030-01-31T19:59:59Z' });
    expect([wrong.status, wrong.body.validation.keys]).toEqual([400, ['endsAt']]);
  });

  it('lists an endless window up to the last displayable year', async () => {
    await stage.start();
    const window = await post({
      pauseAllChecks: true,
      startsAt: '9999-12-30T00:00:00Z',
      endsAt: '9999-12-30T01:00:00Z',
      repeatInterval: 1,
      repeatUnit: 'DAY',
    });
    const list = await call('GET', `/v1/maintenance-windows/${window.id}/maintenances`);
    expect([list.status, list.body.length]).toEqual([200, 2]);
    const early = await call(
      'POST',
      '/v1/maintenance-windows',
      around({ pauseAllChecks: true, startsAt: '1969-12-31T00:00:00Z' }),
    );
    expect([early.status, early.body.validation.keys]).toEqual([400, ['startsAt']]);
  });
}

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { type Job, JobLoop } from '../../../../src/platform/jobs/job-loop.ts';
import { automaticIncidents } from '../../../../src/service/incidents/automatic-incidents.ts';
import { Maintenance } from '../../../../src/service/maintenance/maintenance.ts';
import { MaintenanceNotices } from '../../../../src/service/maintenance/notices.ts';
import { createCheck, quietLogger, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const base = '/v1/maintenance-windows';

/** Single occurrences of maintenance windows: moved, skipped, announced, and shown on status pages. */
const noticesJob = (parts: ConstructorParameters<typeof MaintenanceNotices>[0]): Job => ({
  ...{ name: 'maintenance notices', leaderOnly: true, longestMs: 20_000 },
  work: new MaintenanceNotices(parts),
});

export function occurrenceSuite(stage: StoreStage): void {
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const good = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const iso = (epochMs: number) => new Date(epochMs).toISOString();
  /** A daily one-hour window that pauses all checks; its first occurrence starts after `inMs`. */
  const daily = (inMs: number, fields: object = {}) => ({
    name: 'nightly',
    startsAt: iso(stage.clock.wallMs() + inMs),
    endsAt: iso(stage.clock.wallMs() + inMs + hourMs),
    repeatInterval: 1,
    repeatUnit: 'DAY',
    pauseAllChecks: true,
    ...fields,
  });
  const pauses = async (inMs: number) => {
    const at = stage.clock.wallMs() + inMs;
    const loaded = await Maintenance.load(stage.harness.store, [stage.harness.accountId], {
      from: at,
      to: at,
    });
    return loaded.pauses(stage.harness.accountId, [], at);
  };

  it('moves an occurrence, and its effect with it, even outside of the window', async () => {
    await stage.start();
    const window = await good(
      'POST',
      base,
      daily(hourMs, { repeatEndsAt: iso(stage.clock.wallMs() + 2 * dayMs) }),
    );
    const at = `${base}/${window.id}/maintenances`;
    const now = stage.clock.wallMs();
    expect([await pauses(hourMs), await pauses(dayMs + hourMs), await pauses(5 * dayMs)]).toEqual([
      true,
      true,
      false,
    ]);
    const moved = await good('PATCH', `${at}/2`, {
      startsAt: iso(now + 5 * dayMs),
      endsAt: iso(now + 5 * dayMs + minuteMs),
    });
    expect(moved).toMatchObject({ id: 2, startsAt: iso(now + 5 * dayMs), status: 'SCHEDULED', updates: [] });
    expect([await pauses(hourMs), await pauses(dayMs + hourMs), await pauses(5 * dayMs)]).toEqual([
      true,
      false,
      true,
    ]);
    const ids = async (query = '') =>
      (await good('GET', `${at}${query}`)).map(({ id }: { id: number }) => id);
    expect([await ids(), await ids('?limit=1'), await ids('?limit=1&page=2'), await ids('?page=2')]).toEqual([
      [1, 2],
      [1],
      [2],
      [],
    ]);
    // The list of windows also includes this one, which is not over.
    const listed = await good('GET', `${base}?startsAt=${iso(now + 4 * dayMs)}`);
    expect(listed.map(({ id }: { id: number }) => id)).toEqual([window.id]);
    await good('PATCH', `${at}/1`, { startsAt: iso(now - minuteMs) });
    expect(await pauses(0)).toBe(true);
    for (const [body, keys] of [
      [{ endsAt: iso(now - hourMs) }, ['endsAt']],
      [{ startsAt: iso(now + 9 * dayMs) }, ['endsAt']],
      [{}, ['startsAt']],
      [{ startsAt: 'soon' }, ['startsAt']],
    ] as const) {
      const answer = await call('PATCH', `${at}/1`, body);
      expect([answer.status, answer.body.validation?.keys]).toEqual([400, keys]);
    }
    expect((await call('PATCH', `${at}/99`, { startsAt: iso(now) })).status).toBe(404);
  });

  it('skips an occurrence, and forgets changes when the window gets new ones', async () => {
    await stage.start();
    const window = await good('POST', base, daily(0));
    const at = `${base}/${window.id}/maintenances`;
    expect((await call('DELETE', `${at}/1`)).status).toBe(204);
    expect([await pauses(0), await pauses(dayMs)]).toEqual([false, true]);
    for (const method of ['GET', 'DELETE', 'PATCH']) {
      const body = method === 'PATCH' ? { endsAt: iso(stage.clock.wallMs()) } : undefined;
      expect([method, (await call(method, `${at}/1`, body)).status]).toEqual([method, 404]);
    }
    expect((await good('GET', `${at}?limit=1`))[0].id).toBe(2);
    // New texts keep the occurrences; a new start replaces them.
    await good('PUT', `${base}/${window.id}`, {
      name: 'renamed',
      endsAt: iso(stage.clock.wallMs() + 2 * hourMs),
    });
    expect((await call('GET', `${at}/1`)).status).toBe(404);
    await good('PUT', `${base}/${window.id}`, { startsAt: iso(stage.clock.wallMs() - minuteMs) });
    expect((await good('GET', `${at}/1`)).status).toBe('IN_PROGRESS');
    expect(await pauses(0)).toBe(true);
  });

  it('follows updates, and those that remain', async () => {
    await stage.start();
    const window = await good('POST', base, daily(hourMs));
    const at = `${base}/${window.id}/maintenances/1`;
    const now = stage.clock.wallMs();
    const tell = (body: object) => good('POST', `${at}/updates`, { description: 'news', ...body });
    const status = async () => (await good('GET', at)).status;
    const early = await tell({ status: 'IN_PROGRESS' });
    expect(early).toEqual({
      id: expect.any(String),
      maintenanceWindowId: window.id,
      maintenanceId: 1,
      status: 'IN_PROGRESS',
      description: 'news',
      notifySubscribers: false,
      created_at: iso(now),
      previousStatus: 'SCHEDULED',
      previousStartsAt: iso(now + hourMs),
      previousEndsAt: iso(now + 2 * hourMs),
      dateAdjustments: null,
    });
    expect([await status(), await pauses(0)]).toEqual(['IN_PROGRESS', true]);
    const longer = await tell({ dateAdjustments: { endsAt: iso(now + 3 * hourMs) } });
    expect(longer).toMatchObject({
      status: 'IN_PROGRESS',
      previousStatus: 'IN_PROGRESS',
      dateAdjustments: { endsAt: iso(now + 3 * hourMs) },
    });
    expect(await pauses(2.5 * hourMs)).toBe(true);
    const over = await tell({ status: 'COMPLETED' });
    expect([await status(), await pauses(minuteMs), await pauses(dayMs + hourMs)]).toEqual([
      'COMPLETED',
      false,
      true,
    ]);
    expect((await good('GET', at)).updates.map(({ id }: { id: string }) => id)).toEqual([
      over.id,
      longer.id,
      early.id,
    ]);
    const reworded = await good('PUT', `${at}/updates/${over.id}`, { description: 'done' });
    expect(reworded).toEqual({ ...over, description: 'done' });
    expect((await call('DELETE', `${at}/updates/${over.id}`)).status).toBe(204);
    expect([await status(), await pauses(minuteMs)]).toEqual(['IN_PROGRESS', true]);
    await call('DELETE', `${at}/updates/${early.id}`);
    expect([await status(), await pauses(minuteMs), await pauses(2.5 * hourMs)]).toEqual([
      'SCHEDULED',
      false,
      true,
    ]);
    await tell({ status: 'CANCELLED' });
    expect([await status(), await pauses(2.5 * hourMs)]).toEqual(['CANCELLED', false]);
    for (const [method, path, body] of [
      ['PUT', `${at}/updates/${randomUUID()}`, { description: 'x' }],
      ['DELETE', `${at}/updates/${randomUUID()}`, undefined],
      ['POST', `${base}/${window.id + 1}/maintenances/1/updates`, { description: 'x' }],
    ] as const) {
      expect((await call(method, path, body)).status).toBe(404);
    }
    const wrong = await call('POST', `${at}/updates`, {
      description: 'x',
      dateAdjustments: { endsAt: iso(now) },
    });
    expect([wrong.status, wrong.body.validation.keys]).toEqual([400, ['dateAdjustments.endsAt']]);
  });

  it('is shown on status pages, announced to subscribers and prevents incidents of checks, as configured', async () => {
    await stage.start();
    const { store, accountId } = stage.harness;
    const pages = '/v1/status-pages';
    const service = await good('POST', `${pages}/services`, { name: 'API' });
    const other = await good('POST', `${pages}/services`, { name: 'Shop' });
    const pageOf = async (services: { id: string }[]) => {
      const url = `page-${randomUUID().slice(0, 8)}`;
      const cards = services.map(({ id }) => ({ name: 'card', services: [{ id }] }));
      const page = await good('POST', pages, { name: 'Ours', url, cards });
      const subscriptions = [{ type: 'EMAIL', config: { address: `${url}@example.com` } }];
      await good('POST', `${pages}/${page.id}/subscriptions/bulk`, { subscriptions });
      const data = async () =>
        (await stage.harness.call('GET', `/v1/public/status-pages/${url}`, undefined, { key: null })).body;
      return { url, data };
    };
    const shown = await pageOf([service, other]);
    const elsewhere = await pageOf([other]);
    const window = await good('POST', base, {
      ...daily(2 * hourMs),
      repeatInterval: null,
      repeatUnit: null,
      description: 'New machines',
      statusPageVisibility: {
        enabled: true,
        severity: 'MEDIUM',
        notifyOnStart: true,
        notifyOnEnd: true,
        suppressAutoIncidents: true,
        reminderMinutesBefore: [60, 1440],
        serviceIds: [service.id],
      },
    });
    const hidden = await good('POST', base, daily(0, { name: 'secret', statusPageVisibility: null }));
    const startsAt = Date.parse(window.startsAt);
    const parts = { store, clock: stage.clock, logger: quietLogger };
    const noticesOf = () => new JobLoop(noticesJob(parts), parts);
    const mails = async () => {
      const all = await store.subscriberMails.claim(
        stage.harness.accountId,
        stage.clock.wallMs() + dayMs,
        100,
        0,
      );
      return all.map(({ address, subject }) => [address, subject]);
    };
    // Two processes run the job; each notice is sent once.
    const [one, another] = [noticesOf(), noticesOf()];
    one.start();
    another.start();
    const told = async (expected: string[]) =>
      stage.advanceUntil(`${expected} are told`, async () => (await mails()).length >= expected.length);
    const subjects = async () => (await mails()).map(([, subject]) => subject);
    const states = async () => {
      const { state, cards, maintenances } = await shown.data();
      return [
        state,
        ...cards.map((card: { state: string }) => card.state),
        ...maintenances.map((m: { status: string }) => m.status),
      ];
    };
    const order = (triggerId: string) => ({
      kind: 'open' as const,
      triggerId,
      accountId,
      checkId: randomUUID(),
      incident: {
        serviceId: service.id,
        severity: 'CRITICAL' as const,
        name: 'Down',
        description: 'x',
        notifySubscribers: false,
      },
      at: stage.clock.wallMs(),
    });
    const handle = automaticIncidents({ hasMailer: false });
    const incidents = async () => (await good('GET', `${pages}/incidents`)).length;

    await told(['Maintenance scheduled']);
    expect(await mails()).toEqual([[`${shown.url}@example.com`, '[Ours] Maintenance scheduled: nightly']]);
    expect(await states()).toEqual(['OPERATIONAL', 'OPERATIONAL', 'OPERATIONAL', 'SCHEDULED']);
    expect((await shown.data()).maintenances).toEqual([
      {
        id: 1,
        maintenanceWindowId: window.id,
        name: 'nightly',
        description: 'New machines',
        severity: 'MEDIUM',
        status: 'SCHEDULED',
        startsAt: window.startsAt,
        endsAt: window.endsAt,
        services: [{ id: service.id, name: 'API' }],
        components: [],
        updates: [],
      },
    ]);
    expect((await elsewhere.data()).maintenances).toEqual([]);
    expect(JSON.stringify(await shown.data())).not.toContain('secret');
    stage.clock.advance(startsAt - hourMs - stage.clock.wallMs());
    await told(Array(2).fill('reminders'));
    stage.clock.advance(startsAt - stage.clock.wallMs());
    await told(Array(3).fill('start'));
    expect(await states()).toEqual(['MEDIUM', 'MEDIUM', 'OPERATIONAL', 'IN_PROGRESS']);
    await store.transaction((repositories) => handle(repositories, order(randomUUID())));
    expect(await incidents()).toBe(0);
    stage.clock.advance(startsAt + hourMs - stage.clock.wallMs());
    await told(Array(4).fill('end'));
    await one.stop();
    await another.stop();
    expect((await subjects()).sort()).toEqual([
      '[Ours] Maintenance completed: nightly',
      '[Ours] Maintenance in progress: nightly',
      '[Ours] Maintenance scheduled: nightly',
      '[Ours] Maintenance scheduled: nightly',
    ]);
    expect(await states()).toEqual(['OPERATIONAL', 'OPERATIONAL', 'OPERATIONAL', 'COMPLETED']);
    await store.transaction((repositories) => handle(repositories, order(randomUUID())));
    expect(await incidents()).toBe(1);
    // No notice is sent about a window that no page shows.
    expect((await call('DELETE', `${base}/${hidden.id}`)).status).toBe(204);
  });

  it('notifies subscribers of an update once, and not of the same automatically', async () => {
    stage.hasMailer = true;
    await stage.start();
    const { store } = stage.harness;
    const page = await good('POST', '/v1/status-pages', {
      name: 'Ours',
      url: `p-${randomUUID().slice(0, 8)}`,
      cards: [],
    });
    await good('POST', `/v1/status-pages/${page.id}/subscriptions/bulk`, {
      subscriptions: [{ type: 'EMAIL', config: { address: 'a@example.com' } }],
    });
    const window = await good('POST', base, {
      ...daily(minuteMs),
      statusPageVisibility: {
        enabled: true,
        autoStart: false,
        autoEnd: false,
        notifyOnStart: true,
        notifyOnEnd: true,
        statusPageIds: [page.id.toUpperCase()],
      },
    });
    const at = `${base}/${window.id}/maintenances/1`;
    const subjects = async () =>
      (await store.subscriberMails.claim(stage.harness.accountId, stage.clock.wallMs() + dayMs, 100, 0)).map(
        ({ subject }) => subject,
      );
    stage.clock.advance(2 * minuteMs);
    expect((await good('GET', at)).status).toBe('SCHEDULED');
    await good('POST', `${at}/updates`, { status: 'IN_PROGRESS', description: 'quietly' });
    await good('POST', `${at}/updates`, {
      status: 'VERIFYING',
      description: 'loudly',
      notifySubscribers: true,
    });
    const parts = { store, clock: stage.clock, logger: quietLogger };
    const notices = new JobLoop(noticesJob(parts), parts);
    notices.start();
    const told = ['[Ours] Maintenance being verified: nightly'];
    // It continues past its end until a user completes it; then the window itself sends the notice.
    stage.clock.advance(2 * hourMs);
    expect((await good('GET', at)).status).toBe('VERIFYING');
    await good('POST', `${at}/updates`, { status: 'COMPLETED', description: 'quietly' });
    await until('the end is told', async () => {
      // The job runs three times a minute.
      stage.clock.advance(5_000);
      return (await subjects()).length === 2;
    });
    await notices.stop();
    expect((await subjects()).sort()).toEqual([...told, '[Ours] Maintenance completed: nightly'].sort());
  });

  it('records the slots of a moved occurrence as missed', async () => {
    await stage.start();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'] });
    const window = await good('POST', base, daily(dayMs));
    await good('PATCH', `${base}/${window.id}/maintenances/1`, {
      startsAt: iso(stage.clock.wallMs() - minuteMs),
    });
    await stage.queueNextSlot(check.id);
    expect((await stage.runsOf(check.id))[0]?.reason).toBe('paused-by-maintenance');
  });
}

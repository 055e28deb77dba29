import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { JobLoop } from '../../../../src/platform/jobs/job-loop.ts';
import { automaticIncidents } from '../../../../src/service/incidents/automatic-incidents.ts';
import type { IncidentEvent } from '../../../../src/service/incidents/trigger.ts';
import { MailServer } from '../../../../src/service/mail/mail-server.ts';
import { SubscriberNotifier } from '../../../../src/service/mail/subscriber-notifier.ts';
import { startMailReceiver } from '../../../helpers/service/alert-receivers.ts';
import { createCheck, quietLogger, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const base = '/v1/status-pages';

/** Incidents: the effects of their updates, their display on pages, and incidents of alerts. */
export function incidentSuite(stage: StoreStage): void {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await stage.harness.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const open = (path: string) => stage.harness.call('GET', path, undefined, { key: null });

  /** Creates a page with one card for each list of services, and the services. */
  async function statusPage(names: readonly string[]) {
    const services = [];
    for (const name of names) services.push(await call('POST', `${base}/services`, { name }));
    const url = `page-${randomUUID().slice(0, 8)}`;
    const cards = services.map(({ id, name }) => ({ name: `card of ${name}`, services: [{ id }] }));
    const page = await call('POST', base, { name: 'Ours', url, cards });
    return { page, services, shown: async () => (await open(`/v1/public/status-pages/${url}`)).body };
  }

  it('follows the updates of an incident: state, duration and uptime', async () => {
    await stage.start();
    const { services, shown } = await statusPage(['API', 'Shop']);
    const [api, shop] = services;
    // A share refers to the time that a service was watched: all of the 90 days.
    stage.clock.advance(90 * 24 * hourMs);
    const start = stage.clock.wallMs();
    const incident = await call('POST', `${base}/incidents`, {
      name: 'Down',
      severity: 'MAJOR',
      services: [{ id: api.id }],
      incidentUpdates: [{ status: 'INVESTIGATING', description: 'looking' }],
    });
    expect(incident).toMatchObject({
      lastUpdateStatus: 'INVESTIGATING',
      duration: null,
      services: [{ id: api.id, name: 'API' }],
      incidentUpdates: [
        { notifySubscribers: false, publicIncidentUpdateDate: new Date(start).toISOString() },
      ],
    });
    const at = `${base}/incidents/${incident.id}`;
    const states = async () => {
      const { state, cards } = await shown();
      return [state, ...cards.map((card: { state: string }) => card.state)];
    };
    expect(await states()).toEqual(['MAJOR', 'MAJOR', 'OPERATIONAL']);

    stage.clock.advance(9 * hourMs);
    const resolved = await call('POST', `${at}/incident-updates`, { status: 'RESOLVED', description: 'up' });
    expect(await call('GET', at)).toMatchObject({
      lastUpdateStatus: 'RESOLVED',
      duration: (9 * hourMs) / 1000,
    });
    expect(await states()).toEqual(['OPERATIONAL', 'OPERATIONAL', 'OPERATIONAL']);
    const nineHours = (100 * (90 * 24 - 9)) / (90 * 24);
    const uptimes = async () =>
      (await shown()).cards.map((card: { uptime: number }) => Number(card.uptime.toFixed(6)));
    expect(await uptimes()).toEqual([Number(nineHours.toFixed(6)), 100]);

    // Reopened: the time in between counts too, and a second RESOLVED does not extend it.
    stage.clock.advance(hourMs);
    await call('POST', `${at}/incident-updates`, { status: 'MONITORING', description: 'not quite' });
    expect((await call('GET', at)).duration).toBeNull();
    stage.clock.advance(2 * hourMs);
    const last = await call('POST', `${at}/incident-updates`, { status: 'RESOLVED', description: 'up' });
    stage.clock.advance(hourMs);
    await call('POST', `${at}/incident-updates`, { status: 'RESOLVED', description: 'really' });
    expect((await call('GET', at)).duration).toBe((12 * hourMs) / 1000);

    // A second incident in the same hours of one service counts once, on the other page too.
    await call('POST', `${base}/incidents`, {
      name: 'Also down',
      severity: 'CRITICAL',
      services: [{ id: api.id }, { id: shop.id }],
      incidentUpdates: [
        {
          status: 'IDENTIFIED',
          description: 'found',
          publicIncidentUpdateDate: new Date(start + 3 * hourMs).toISOString(),
        },
      ],
    });
    expect(await states()).toEqual(['CRITICAL', 'CRITICAL', 'CRITICAL']);
    const hours = (down: number) => Number(((100 * (90 * 24 - down)) / (90 * 24)).toFixed(6));
    expect(await uptimes()).toEqual([hours(13), hours(10)]);
    const { cards, incidents } = await shown();
    const days: { incidentSeconds: number }[] = cards[0].services[0].days;
    expect(days).toHaveLength(90);
    expect(days.reduce((sum, day) => sum + day.incidentSeconds, 0)).toBe(13 * 3600);
    expect(incidents.map(({ name }: { name: string }) => name)).toEqual(['Also down', 'Down']);

    // Corrections count from now on.
    await call('PUT', `${at}/incident-updates/${last.id}`, { status: 'IDENTIFIED' });
    await call('DELETE', `${at}/incident-updates/${resolved.id}`);
    expect((await call('GET', at)).duration).toBe((13 * hourMs) / 1000);
    const updates = await call('GET', `${at}/incident-updates`);
    expect(updates.map(({ status }: { status: string }) => status)).toEqual([
      'RESOLVED',
      'IDENTIFIED',
      'MONITORING',
      'INVESTIGATING',
    ]);
    for (const { id } of updates.slice(0, 3)) await call('DELETE', `${at}/incident-updates/${id}`);
    const only = await stage.harness.call('DELETE', `${at}/incident-updates/${updates[3].id}`);
    expect([only.status, only.body.validation.keys]).toEqual([400, ['incidentUpdateId']]);
    await call('PUT', at, { severity: 'MINOR', services: [{ id: shop.id }] });
    expect(await call('GET', at)).toMatchObject({ severity: 'MINOR', services: [{ id: shop.id }] });
    await call('DELETE', at);
    expect(await uptimes()).toEqual([hours(10), hours(10)]);
  });

  it('shows updates from their public date on', async () => {
    await stage.start();
    const { services, shown } = await statusPage(['API']);
    const later = new Date(stage.clock.wallMs() + dayMs).toISOString();
    await call('POST', `${base}/incidents`, {
      name: 'Move of the machines',
      severity: 'MINOR',
      services: [{ id: services[0].id }],
      incidentUpdates: [{ status: 'IDENTIFIED', description: 'planned', publicIncidentUpdateDate: later }],
    });
    expect(await shown()).toMatchObject({ state: 'OPERATIONAL', incidents: [] });
    stage.clock.advance(dayMs);
    expect(await shown()).toMatchObject({ state: 'MINOR', incidents: [{ name: 'Move of the machines' }] });
  });

  it('opens and resolves the incident of an alert once, whatever events arrive', async () => {
    await stage.start();
    const { page, services, shown } = await statusPage(['API']);
    const bulk = ['reader@example.com', 'nobody@example.com'].map((address) => ({
      type: 'EMAIL',
      config: { address },
    }));
    await call('POST', `${base}/${page.id}/subscriptions/bulk`, { subscriptions: bulk });
    const { store } = stage.harness;
    const handle = automaticIncidents({ hasMailer: true, publicUrl: 'https://picket.test/' });
    const tell = (kind: 'open' | 'resolve', event: Omit<IncidentEvent, 'kind' | 'at'>) =>
      store.transaction((repositories) => handle(repositories, { ...event, kind, at: stage.clock.wallMs() }));
    const order = {
      triggerId: randomUUID(),
      accountId: stage.harness.accountId,
      checkId: (await createCheck(stage.harness)).id,
      incident: {
        serviceId: services[0].id,
        severity: 'CRITICAL' as const,
        name: 'API is\r\nBcc: down',
        description: 'We are looking into it.',
        notifySubscribers: true,
      },
    };
    await Promise.all([tell('open', order), tell('open', order), tell('open', order)]);
    const stranger = await stage.harness.addAccount();
    await tell('open', { ...order, triggerId: randomUUID(), accountId: stranger.accountId });
    const elsewhere = { ...order.incident, serviceId: randomUUID() };
    await tell('open', { ...order, triggerId: randomUUID(), incident: elsewhere });
    const listed = async () => (await call('GET', `${base}/incidents`)).entries;
    expect(await listed()).toMatchObject([
      {
        severity: 'CRITICAL',
        lastUpdateStatus: 'INVESTIGATING',
        duration: null,
        incidentUpdates: [{ description: 'We are looking into it.', notifySubscribers: true }],
      },
    ]);
    expect((await shown()).state).toBe('CRITICAL');
    // Two checks on one service open two incidents.
    const quiet = { ...order.incident, notifySubscribers: false };
    const second = { ...order, triggerId: randomUUID(), incident: quiet };
    await tell('open', second);
    stage.clock.advance(90_000);
    await Promise.all([tell('resolve', order), tell('resolve', order)]);
    expect((await shown()).state).toBe('CRITICAL');
    const entries = await listed();
    expect(
      entries.map(({ lastUpdateStatus }: { lastUpdateStatus: string }) => lastUpdateStatus).sort(),
    ).toEqual(['INVESTIGATING', 'RESOLVED']);
    const resolved = entries.find(({ duration }: { duration: number | null }) => duration !== null);
    expect([resolved.duration, resolved.incidentUpdates.length]).toEqual([90, 2]);
    // Incidents that users resolved by hand stay unchanged.
    const other = entries.find(({ id }: { id: string }) => id !== resolved.id);
    const byHand = { status: 'RESOLVED', description: 'by hand' };
    await call('POST', `${base}/incidents/${other.id}/incident-updates`, byHand);
    await tell('resolve', second);
    expect((await call('GET', `${base}/incidents/${other.id}`)).incidentUpdates).toHaveLength(2);
    await tell('open', order);
    expect(await listed()).toHaveLength(2);
    expect((await shown()).state).toBe('OPERATIONAL');

    // The server is busy at first, and always refuses an unknown mailbox.
    await using receiver = await startMailReceiver();
    receiver.isBusy = true;
    const mail = new MailServer({ smtpUrl: receiver.url, from: 'status@picket.test' });
    const parts = { store, clock: stage.clock, logger: quietLogger };
    const notifier = new JobLoop(
      {
        name: 'subscriber notifier',
        leaderOnly: false,
        longestMs: 2_000,
        work: new SubscriberNotifier({ ...parts, mail }),
      },
      parts,
    );
    notifier.start();
    const firstTryBy = stage.clock.wallMs();
    await until('all were tried', async () => ((await store.subscriberMails.nextDueAt()) ?? 0) > firstTryBy);
    expect(receiver.received).toEqual([]);
    receiver.isBusy = false;
    await until('nothing waits', async () => {
      stage.clock.advance(2_000);
      return (await store.subscriberMails.nextDueAt()) === null;
    });
    await notifier.stop();
    mail.close();
    const unfolded = receiver.received.map(({ source }) => source.replaceAll(/\r\n(?=[ \t])/g, ''));
    const header = (name: string) =>
      unfolded.map((source) => new RegExp(`^${name}:(.*)$`, 'im').exec(source)?.[1]?.trim() ?? '');
    expect(receiver.received.map(({ to }) => to)).toEqual(Array(2).fill(['reader@example.com']));
    const subjects = ['[Ours] Investigating: API is Bcc: down', '[Ours] Resolved: API is Bcc: down'];
    expect(header('Subject').sort()).toEqual(subjects);
    const ids = header('Message-ID');
    expect(new Set(ids).size).toBe(2);
    // Not only a position, which begins at 1 in every installation.
    for (const id of ids) expect(id).toMatch(/^<subscriber-[0-9a-f]{32}@picket\.test>$/);
    expect(header('List-Unsubscribe-Post')).toEqual(Array(2).fill('List-Unsubscribe=One-Click'));
    const unsubscribe = new URL(header('List-Unsubscribe')[0]?.slice(1, -1) ?? '');
    expect(unsubscribe.origin).toBe('https://picket.test');
    const leave = () => stage.harness.call('POST', unsubscribe.pathname, undefined, { key: null });
    expect([(await leave()).status, (await leave()).status]).toEqual([204, 404]);
    const left = (await call('GET', `${base}/${page.id}/subscriptions`)).entries;
    expect(left.map(({ address }: { address: string }) => address)).toEqual(['nobody@example.com']);
  });
}

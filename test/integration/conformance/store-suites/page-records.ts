import { expect, it } from 'vitest';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;

/** Self-service subscriptions, host names of pages, and headers that reveal that a page changed. */
export function pageRecordSuite(stage: StoreStage): void {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await stage.harness.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  it('keeps an unconfirmed subscription for as long as its link is valid', async () => {
    await stage.start();
    const { subscriptions } = stage.harness.store;
    const now = stage.clock.wallMs();
    const { id: pageId } = await call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme', cards: [] });
    const row = (name: string, created: number) => ({
      id: crypto.randomUUID(),
      status_page_id: pageId as string,
      type: 'EMAIL' as const,
      address: `${name}@example.com`,
      status: 'PENDING' as const,
      token: `token-${name}`,
      created,
      updated: null,
    });
    const asked = row('asked-again', now - 3 * dayMs);
    await subscriptions.insertNew([
      row('new', now),
      row('old', now - 3 * dayMs),
      asked,
      row('confirmed', now),
    ]);
    await subscriptions.askedAgain(asked.id, now);
    expect(await subscriptions.confirm('token-confirmed', now - dayMs, now)).toBe(true);
    expect(await subscriptions.confirm('token-confirmed', now + 1, now)).toBe(true);
    expect(await subscriptions.confirm('token-old', now - dayMs, now)).toBe(false);
    expect(await subscriptions.confirm('token-nobody', 0, now)).toBe(false);
    expect(await subscriptions.counts(pageId)).toEqual({ PENDING: 3, VERIFIED: 1 });
    expect(await subscriptions.deleteUnconfirmed(now - dayMs)).toBe(1);
    expect(await subscriptions.ofAddress(pageId, 'old@example.com')).toBeUndefined();
    expect(await subscriptions.confirm('token-asked-again', now - dayMs, now)).toBe(true);
    expect(await subscriptions.counts(pageId)).toEqual({ PENDING: 1, VERIFIED: 2 });
  });

  it("knows the host names of pages, and detects each change of a page's content", async () => {
    await stage.start();
    const { statusPages, dashboards } = stage.harness.store;
    const cards: object[] = [];
    await call('POST', '/v1/status-pages', { name: 'A', url: 'a', customDomain: 'a.test', cards });
    await call('POST', '/v1/status-pages', { name: 'B', url: 'b', cards });
    await call('POST', '/v1/dashboards', { header: 'Wall', customDomain: 'wall.test' });
    expect(await statusPages.withOwnHost()).toEqual([{ url: 'a', custom_domain: 'a.test' }]);
    expect(await dashboards.ownHosts()).toEqual(['wall.test']);
    expect((await statusPages.all()).map(({ url }) => url).sort()).toEqual(['a', 'b']);
    const seen = new Set<string | undefined>();
    const isNew = async () => {
      const sum = (await statusPages.changeSums()).get(stage.harness.accountId);
      const { size } = seen.add(sum);
      stage.clock.advance(1_000);
      return size;
    };
    expect(await isNew()).toBe(1);
    const service = await call('POST', '/v1/status-pages/services', { name: 'Shop' });
    expect(await isNew()).toBe(2);
    await call('PUT', `/v1/status-pages/services/${service.id}`, { name: 'Store' });
    expect(await isNew()).toBe(3);
    const incident = await call('POST', '/v1/status-pages/incidents', {
      name: 'Down',
      severity: 'MAJOR',
      services: [{ id: service.id }],
      incidentUpdates: [{ description: 'Looked into.', status: 'INVESTIGATING' }],
    });
    expect(await isNew()).toBe(4);
    const update = { description: 'Over.', status: 'RESOLVED' };
    await call('POST', `/v1/status-pages/incidents/${incident.id}/incident-updates`, update);
    expect(await isNew()).toBe(5);
    const soon = (hours: number) => new Date(stage.clock.wallMs() + hours * 3_600_000).toISOString();
    const window = await call('POST', '/v1/maintenance-windows', {
      name: 'Disks',
      startsAt: soon(1),
      endsAt: soon(2),
      pauseAllChecks: true,
    });
    expect(await isNew()).toBe(6);
    const maintenance = `/v1/maintenance-windows/${window.id}/maintenances/1`;
    await call('POST', `${maintenance}/updates`, { description: 'Begun.' });
    expect(await isNew()).toBe(7);
    await call('DELETE', `/v1/status-pages/incidents/${incident.id}`);
    expect(await isNew()).toBe(8);
    expect(await isNew()).toBe(8);
  });
}

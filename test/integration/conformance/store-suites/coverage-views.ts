import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { failure } from '../../../../src/checks/contract/failure.ts';
import type { Coverage } from '../../../../src/protocol/runs/coverage.ts';
import { createCheck, reportOf, until } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Coverage wherever availability is shown. */
export function coverageViewSuite(stage: StoreStage): void {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await stage.harness.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  /**
   * Creates a check that was measured once and then not for five hours, with a dashboard and a status page that show
   * it.
   */
  async function gap() {
    await stage.start();
    const service = await call('POST', '/v1/status-pages/services', { name: 'Shop' });
    const manual = await call('POST', '/v1/status-pages/services', { name: 'Desk' });
    const check = await createCheck(stage.harness, {
      name: 'shop',
      tags: ['shown'],
      frequency: 10,
      privateLocations: ['lab'],
      retryStrategy: null,
      doubleCheck: false,
      triggerIncident: { serviceId: service.id, name: 'Down', description: 'x', notifySubscribers: false },
    });
    await call('POST', '/v1/dashboards', { header: 'x', customUrl: 'shown', tags: ['shown'] });
    const services = [{ id: service.id }, { id: manual.id }];
    await call('POST', '/v1/status-pages', { name: 'p', url: 'state', cards: [{ name: 'all', services }] });
    await stage.queueNextSlot(check.id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run, { responseTimeMs: 40 })]);
    return check.id as string;
  }

  async function surfaces(id: string) {
    const [report] = await call('GET', '/v1/reporting');
    const analytics = await call(
      'GET',
      `/v1/analytics/url-monitors/${id}?metrics=availability&aggregationInterval=60`,
    );
    const overview = await call('POST', '/v1/analytics/checks', { checkIds: [id] });
    const dashboard = await call('GET', '/v1/public/dashboards/shown');
    const page = await call('GET', '/v1/public/status-pages/state');
    const counts = await call('GET', `/v1/checks/${id}/slots/count`);
    const badge = String(await call('GET', `/v1/badges/checks/${id}`));
    return { report, analytics, overview, dashboard, page, counts, badge };
  }

  it('shows the same sums everywhere, sealed or not, and never 100 % without its coverage', async () => {
    const id = await gap();
    stage.harness.startLeaseSweep();
    // No agent claims from now on.
    await stage.advanceUntil('most slots of five hours are missed', async () => {
      stage.clock.advance(minuteMs);
      return (await stage.runsOf(id)).filter(({ state }) => state === 'missed').length >= 30;
    });
    await call('PUT', `/v1/checks/url/${id}`, { activated: false });
    const look = async () => {
      const seen = await surfaces(id);
      const { counts } = seen;
      const coverage: Coverage = seen.report.aggregate.coverage;
      expect(seen.report.aggregate.successRatio).toBe(100);
      expect(coverage).toMatchObject({ due: counts.due, evaluated: 1, errors: 0, open: counts.onTheirWay });
      expect(coverage.percent).toBeLessThan(5);
      expect(coverage.missed).toEqual(counts.missed);
      expect(coverage.cancelled).toEqual(counts.cancelled);
      const sum = (parts: Readonly<Record<string, number>>) =>
        Object.values(parts).reduce((total, count) => total + count, 0);
      expect(counts.due).toBe(counts.final + sum(counts.missed) + sum(counts.cancelled) + counts.onTheirWay);
      expect(counts.due).toBeGreaterThan(30);
      expect(seen.analytics.coverage).toEqual(coverage);
      expect(seen.analytics.coverageByLocation).toEqual({ lab: coverage });
      const hours: { coverage: Coverage }[] = seen.analytics.coverageIntervals;
      expect(hours.length).toBeGreaterThanOrEqual(5);
      expect(hours.reduce((due, hour) => due + hour.coverage.due, 0)).toBe(coverage.due);
      expect(seen.overview[0].coverage).toEqual(coverage);
      const [all] = seen.page.cards;
      const [shop, desk] = all.services;
      expect(shop.coverage).toEqual(coverage);
      expect(all.coverage).toEqual(coverage);
      expect(desk.coverage).toBeNull();
      expect(desk.days.every((day: { measurement: unknown }) => day.measurement === null)).toBe(true);
      const days: { measurement: string; coverage: Coverage }[] = shop.days;
      expect(days.reduce((due, day) => due + day.coverage.due, 0)).toBe(coverage.due);
      expect(days.filter(({ measurement }) => measurement !== 'NONE').map((day) => day.measurement)).toEqual([
        'PARTIAL',
      ]);
      return seen;
    };
    const unsealed = await look();
    const now = stage.clock.wallMs() + 2 * hourMs;
    const { store } = stage.harness;
    expect(await store.transaction(({ slotDays }) => slotDays.sealNext(id, now))).toBe(true);
    expect((await look()).counts).toEqual(unsealed.counts);
    const table = String(await call('GET', '/v1/reporting.csv'));
    const [names = [], cells = []] = table.split('\r\n').map((line) => line.split(','));
    expect(new Set(names).size).toBe(names.length);
    const cell = (name: string) => Number(cells[names.indexOf(name)]);
    const parts = names.slice(names.indexOf('evaluated'), names.indexOf('other_reasons') + 1);
    expect(parts.reduce((total, name) => total + cell(name), 0)).toBe(cell('slots_due'));
    expect(cell('slots_due')).toBe(unsealed.counts.due);
  });

  it('shows the state of an objective, by its measured and unmeasured share', async () => {
    const id = await gap();
    const group = await call('POST', '/v1/check-groups', { name: 'all' });
    const create = async (subject: object) =>
      (await call('POST', '/v1/slos', { name: 'x', target: 99, windowDays: 7, ...subject })).id;
    const ids = [await create({ checkId: id }), await create({ tags: ['shown'] })];
    const empty = await create({ groupId: group.id });
    const statusOf = (slo: number) => call('GET', `/v1/slos/${slo}/status`);
    for (const slo of ids) {
      expect(await statusOf(slo)).toMatchObject({
        state: 'MET',
        checkIds: [id],
        availability: 100,
        coverage: { percent: 100, due: 1 },
        errorBudget: { failedRuns: 0, leftPercent: 100, leftPercentAtWorst: 100 },
        burnRates: [1, 6, 24, 72].map((hours) => ({ hours, rate: 0, coveragePercent: 100 })),
      });
    }
    expect(await statusOf(empty)).toMatchObject({ state: 'UNKNOWN', checkIds: [], availability: null });
    stage.harness.startLeaseSweep();
    await stage.advanceUntil('some slots are missed', async () => {
      stage.clock.advance(minuteMs);
      return (await stage.runsOf(id)).filter(({ state }) => state === 'missed').length >= 3;
    });
    const unproven = await statusOf(ids[0]);
    expect(unproven).toMatchObject({ state: 'UNPROVEN', errorBudget: { leftPercent: 100 } });
    expect(unproven.errorBudget.leftPercentAtWorst).toBeLessThan(0);
    const { agent } = stage;
    await stage.queueNextSlot(id);
    const [run] = await agent.claim();
    if (!run) throw new Error('nothing was leased');
    await agent.report([reportOf(run, { failure: failure('CONNECTION_REFUSED', 'refused') })]);
    const breached = await statusOf(ids[0]);
    expect(breached).toMatchObject({ state: 'BREACHED', availability: 50, errorBudget: { failedRuns: 1 } });
    expect(breached.burnRates.at(-1)).toMatchObject({ hours: 72, rate: 50 });
    const stranger = await stage.harness.addAccount();
    const theirs = { key: stranger.key };
    expect((await stage.harness.call('GET', `/v1/slos/${ids[0]}/status`, undefined, theirs)).status).toBe(
      404,
    );
    const body = { name: 'x', target: 99, checkId: id };
    const refused = await stage.harness.call('POST', '/v1/slos', body, theirs);
    expect([refused.status, refused.body.validation.keys]).toEqual([400, ['checkId']]);
    const moved = await stage.harness.call('PUT', `/v1/slos/${ids[1]}`, { groupId: 999_999, tags: [] });
    expect([moved.status, moved.body.validation.keys]).toEqual([400, ['groupId']]);
  });

  it('colors nothing green that was not measured, on badges and dashboards', async () => {
    const id = await gap();
    expect((await surfaces(id)).badge).toContain('shop: passing<');
    stage.harness.startLeaseSweep();
    await stage.advanceUntil('some slots are missed', async () => {
      stage.clock.advance(minuteMs);
      return (await stage.runsOf(id)).filter(({ state }) => state === 'missed').length >= 3;
    });
    // The last slots may not have been marked missed yet.
    const partly = await until('all say the same', async () => {
      const shown = await surfaces(id);
      const { coverage } = shown.dashboard.checks[0].last24Hours;
      const [status] = await call('GET', '/v1/check-statuses');
      const alone = await call('GET', `/v1/check-statuses/${id}`);
      return isDeepStrictEqual([status.coverage, alone.coverage], [coverage, coverage]) && shown;
    });
    expect(partly.badge).toContain('shop: not measured<');
    expect(partly.dashboard.checks[0]).toMatchObject({ state: 'not-measured' });
    expect(partly.dashboard.checks[0].last24Hours.coverage.percent).toBeLessThan(100);
    expect(partly.dashboard.checks[0].days).toHaveLength(7);
    await stage.queueNextSlot(id);
    const [run] = await stage.agent.claim();
    if (!run) throw new Error('nothing was leased');
    await stage.agent.report([reportOf(run)]);
    // Public responses are cached for some seconds.
    stage.clock.advance(10_001);
    const again = await surfaces(id);
    expect(again.badge).toMatch(/shop: passing \d+(\.\d\d?)? % measured</);
    expect(again.dashboard.checks[0]).toMatchObject({ state: 'passing' });

    stage.clock.advance(25 * hourMs);
    await stage.advanceUntil('a whole day was missed', async () => {
      stage.clock.advance(minuteMs);
      return (await surfaces(id)).dashboard.checks[0].last24Hours.coverage.missed['service-away'] > 0;
    });
    const dark = await surfaces(id);
    expect(dark.badge).toContain('shop: not measured<');
    expect(dark.badge).toContain('#868e96');
    expect(dark.badge).not.toContain('#2f9e44');
    expect(dark.dashboard.checks[0]).toMatchObject({ state: 'not-measured' });
    expect(dark.dashboard.summary).toMatchObject({ passing: 0, unknown: 1 });
    expect(dark.dashboard.checks[0].last7Days).toMatchObject({ successRatio: 100 });
    expect(dark.dashboard.checks[0].last7Days.coverage.percent).toBeLessThan(2);
  });
}

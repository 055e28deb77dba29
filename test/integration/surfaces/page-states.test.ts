import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Failure, failure } from '../../../src/checks/contract/failure.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

// Services and components on status pages follow the current states of their checks, not earlier results of that day.
const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let agent: TestAgent;
const ids = new Map<string, string>();
beforeAll(async () => {
  harness = await openHarness({ clock });
  agent = new TestAgent(harness, await createLocation(harness, 'lab'));
  const call = async (path: string, body: object) => {
    const answer = await harness.call('POST', `/v1/${path}`, body);
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const { id: serviceId } = await call('status-pages/services', { name: 'Shop' });
  const triggerIncident = { serviceId, name: 'Down', description: 'x', notifySubscribers: false };
  for (const name of ['shop', 'basket']) {
    const check = await createCheck(harness, {
      ...{
        name,
        tags: [name],
        privateLocations: ['lab'],
        retryStrategy: null,
        doubleCheck: false,
        triggerIncident,
      },
    });
    ids.set(name, check.id);
  }
  const cards = [{ name: 'Core', services: [{ id: serviceId }] }];
  await call('status-pages', { name: 'Services', url: 'services', cards });
  const { id: statusPageId } = await call('status-pages', { name: 'Parts', url: 'parts', version: 3 });
  const { id: group } = await call('status-pages/components', { statusPageId, name: 'Group', type: 'GROUP' });
  for (const [name, tag, showHistoricalData] of [
    ['Shop', 'shop', true],
    ['Basket', 'basket', false],
  ] as const) {
    const { id: componentId } = await call('status-pages/components', {
      ...{ statusPageId, name, parentId: group, configuration: { showHistoricalData } },
    });
    await call('status-pages/automation-rules', {
      ...{ statusPageId, name, tags: [tag], firstUpdate: 'down', lastUpdate: 'up' },
      components: [{ componentId, targetImpact: 'MAJOR_OUTAGE' }],
    });
  }
  harness.startScheduler();
});
afterAll(() => harness.close());

/** Runs some of the checks once, and the others not at all. */
async function run(outcomes: Readonly<Record<string, Failure | null>>): Promise<void> {
  const waiting = new Set(Object.keys(outcomes));
  const named = new Map([...ids].map(([name, id]) => [id, name]));
  while (waiting.size > 0) {
    clock.advance(1_000);
    for (const leased of await agent.claim()) {
      const name = named.get(leased.check.id) ?? '';
      const failed = outcomes[name];
      if (failed === undefined) await agent.release([leased]);
      else if (waiting.delete(name)) await agent.report([reportOf(leased, { failure: failed })]);
      else await agent.release([leased]);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

/** The states on both pages: in the API, in their first line, of each part, and on their badge. */
async function said(page: 'services' | 'parts') {
  // Responses are cached for some seconds.
  clock.advance(11_000);
  const { body } = await harness.call('GET', `/v1/public/status-pages/${page}`, undefined, { key: null });
  const parts = page === 'parts' ? body.components : body.cards[0].services;
  const html = (await new Visitor(harness.app).get(`/status/${page}`)).body;
  const badge = (await harness.call('GET', `/v1/badges/status-pages/${page}`, undefined, { key: null })).body;
  return {
    now: Object.fromEntries(
      parts.map((one: { name: string; measuredNow: string }) => [one.name, one.measuredNow]),
    ),
    first: textOf(/<p class="overall[\s\S]*?<\/p>/.exec(html)?.[0] ?? '').trim(),
    badge: /aria-label="[^"]*: ([^"]*)"/.exec(String(badge))?.[1],
  };
}

async function switchTo(id: string, activated: boolean): Promise<void> {
  const { body } = await harness.call('GET', `/v1/checks/${id}`);
  const answer = await harness.call('PUT', `/v1/checks/url/${id}`, { ...body, activated });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

describe('a status page', () => {
  it('shows nothing as operational before it was measured', async () => {
    expect(await said('services')).toMatchObject({
      now: { Shop: 'NONE' },
      first: expect.stringContaining('No known incidents; not measured now'),
      badge: 'no known incident',
    });
    expect((await said('parts')).now).toEqual({ Group: 'NONE', Shop: 'NONE', Basket: 'NONE' });
  });

  it('is operational while all of its checks are measured', async () => {
    await run({ shop: null, basket: null });
    expect(await said('services')).toMatchObject({
      now: { Shop: 'FULL' },
      first: expect.stringContaining('All services operational'),
      badge: 'operational',
    });
    const parts = await said('parts');
    expect(parts.now).toEqual({ Group: 'FULL', Shop: 'FULL', Basket: 'FULL' });
    expect(parts.first).toContain('All components operational');
  });

  it('reports what a fault of ours hides, and never that the target is down', async () => {
    await run({ shop: failure('RUNNER_CRASHED', 'the runner ended'), basket: null });
    const parts = await said('parts');
    expect(parts.now).toEqual({ Group: 'PARTIAL', Shop: 'NONE', Basket: 'FULL' });
    expect(parts.first).toContain('No known incidents; 1 of 2 components not measured now');
    expect(parts.badge).toBe('no known incident');
    const services = await said('services');
    expect(services.now).toEqual({ Shop: 'PARTIAL' });
    expect(services.first).toContain('No known incidents; measured in part now');
    const { body } = await harness.call('GET', '/v1/public/status-pages/parts', undefined, { key: null });
    expect([body.state, body.incidents]).toEqual(['OPERATIONAL', []]);
  });

  it('is not operational as soon as its agents are gone, although most of the day was measured', async () => {
    await run({ shop: null, basket: null });
    clock.advance(4 * 60_000);
    for (const page of ['services', 'parts'] as const) {
      const shown = await said(page);
      expect(new Set(Object.values(shown.now))).toEqual(new Set(['NONE']));
      expect(shown.first).toMatch(/No known incidents; (not|2 of 2 components not) measured now/);
      expect(shown.badge).toBe('no known incident');
      expect(JSON.stringify(shown)).not.toMatch(/operational/i);
    }
  });

  it('is not operational while its checks are deactivated', async () => {
    for (const id of ids.values()) await switchTo(id, false);
    expect((await said('services')).now).toEqual({ Shop: 'NONE' });
    expect((await said('parts')).now).toEqual({ Group: 'NONE', Shop: 'NONE', Basket: 'NONE' });
  });

  it('is not operational while only its copy can be shown', async () => {
    for (const id of ids.values()) await switchTo(id, true);
    await run({ shop: null, basket: null });
    expect((await said('services')).first).toContain('All services operational');
    clock.advance(11_000);
    await harness.store.close();
    const { body } = await new Visitor(harness.app).get('/status/services');
    expect(textOf(body)).toContain('State as of');
    expect(textOf(body)).not.toMatch(/operational/i);
  });
});

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { automaticIncidents } from '../../../../src/service/incidents/automatic-incidents.ts';
import { WaitingFailures } from '../../../../src/service/incidents/rules/rule-incidents.ts';
import { createCheck } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const base = '/v1/status-pages';

/** Status pages of components: their order and states, and the rules by which failing checks open incidents. */
export function pageComponentSuite(stage: StoreStage): void {
  const ask = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const newPage = async () => {
    const url = `page-${randomUUID().slice(0, 8)}`;
    const page = await call('POST', base, { name: 'Ours', url, version: 3 });
    const shown = async () =>
      (await stage.harness.call('GET', `/v1/public/status-pages/${url}`, undefined, { key: null })).body;
    const add = async (name: string, fields: object = {}): Promise<string> =>
      (await call('POST', `${base}/components`, { statusPageId: page.id, name, ...fields })).id;
    return { id: page.id as string, shown, add };
  };
  const states = ({ components }: { components: { name: string; state: string }[] }) =>
    Object.fromEntries(components.map(({ name, state }) => [name, state]));
  const announce = (components: readonly object[]) =>
    call('POST', `${base}/incidents`, {
      name: 'Down',
      severity: 'MAJOR',
      components,
      incidentUpdates: [{ status: 'INVESTIGATING', description: 'looking' }],
    });

  it('shows components in order, and omits hidden ones with their children', async () => {
    await stage.start();
    const { id, shown, add } = await newPage();
    const group = await add('Shop', {
      type: 'GROUP',
      displayOrder: 2,
      configuration: { expandedByDefault: true },
    });
    await add('API', { displayOrder: 1, description: 'For programs' });
    await add('Cart', { parentId: group, displayOrder: 5 });
    const inner = await add('Payment', { parentId: group, type: 'GROUP', displayOrder: 3 });
    await add('Cards', { parentId: inner, configuration: { showHistoricalData: false } });
    const secret = await add('Secret', { type: 'GROUP', displayOrder: 0, hidden: true });
    const within = await add('Within', { parentId: secret });
    const { components, state, cards, page } = await shown();
    expect(components.map(({ name }: { name: string }) => name)).toEqual([
      'API',
      'Shop',
      'Payment',
      'Cards',
      'Cart',
    ]);
    expect([state, cards, page.version]).toEqual(['OPERATIONAL', [], 3]);
    expect(components[1]).toMatchObject({ type: 'GROUP', isExpanded: true, parentId: null, uptime: 100 });
    expect(components[3]).toMatchObject({ parentId: inner, uptime: null, days: [] });
    expect(components[0].days).toHaveLength(90);

    // A group has the worst state of its components; hidden components are not named, and do not make it worse.
    const incident = await announce([
      { componentId: inner, impact: 'DEGRADED_PERFORMANCE' },
      { componentId: within, impact: 'MAJOR_OUTAGE' },
    ]);
    stage.clock.advance(hourMs);
    const during = await shown();
    expect(states(during)).toEqual({
      ...{ API: 'OPERATIONAL', Shop: 'DEGRADED_PERFORMANCE', Payment: 'DEGRADED_PERFORMANCE' },
      ...{ Cards: 'OPERATIONAL', Cart: 'OPERATIONAL' },
    });
    expect(during.state).toBe('MEDIUM');
    expect(during.incidents).toMatchObject([
      { name: 'Down', components: [{ name: 'Payment', impact: 'DEGRADED_PERFORMANCE' }] },
    ]);
    await announce([{ componentId: within, impact: 'MAJOR_OUTAGE' }]);
    expect(JSON.stringify(await shown())).not.toContain('Within');
    expect((await shown()).incidents).toHaveLength(1);
    await call('POST', `${base}/incidents/${incident.id}/incident-updates`, {
      ...{ status: 'RESOLVED', description: 'up' },
    });
    const after = await shown();
    const down = (name: string) =>
      after.components
        .find((one: { name: string }) => one.name === name)
        .days.reduce((sum: number, day: { incidentSeconds: number }) => sum + day.incidentSeconds, 0);
    expect([down('Shop'), down('Payment'), down('API')]).toEqual([3600, 3600, 0]);
    expect(after.state).toBe('OPERATIONAL');

    // Announced maintenance does not count as downtime.
    const work = await announce([{ componentId: group, impact: 'UNDER_MAINTENANCE' }]);
    stage.clock.advance(hourMs);
    const worked = await shown();
    expect([states(worked).Shop, states(worked).Cart, worked.state]).toEqual([
      'UNDER_MAINTENANCE',
      'OPERATIONAL',
      'MINOR',
    ]);
    // The downtime is equal, but the total time is longer.
    expect(worked.components[1].uptime).toBeGreaterThan(after.components[1].uptime);
    expect((await call('GET', `${base}/incidents/${work.id}`)).components).toEqual([
      { id: group, name: 'Shop', statusPageId: id, impact: 'UNDER_MAINTENANCE' },
    ]);

    // The children of a deleted group move to the group's parent.
    await call('DELETE', `${base}/components/${inner}`);
    expect((await call('GET', `${base}/components?statusPageId=${id}`)).entries).toContainEqual(
      expect.objectContaining({ name: 'Cards', parentId: group }),
    );
    await call('DELETE', `${base}/${id}`);
    expect((await call('GET', `${base}/components`)).entries).toEqual([]);
  });

  it('keeps components where they can be', async () => {
    await stage.start();
    const { id, add } = await newPage();
    const group = await add('G', { type: 'GROUP' });
    const leaf = await add('Leaf', { parentId: group });
    const cards = await call('POST', base, {
      name: 'Old',
      url: `old-${randomUUID().slice(0, 8)}`,
      cards: [],
    });
    const other = await newPage();
    const refused = async (method: string, path: string, body: object) => {
      const answer = await ask(method, `${base}${path}`, body);
      return [answer.status, answer.body.validation?.keys];
    };
    const create = (fields: object) =>
      refused('POST', '/components', { statusPageId: id, name: 'x', ...fields });
    expect(await create({ statusPageId: cards.id })).toEqual([400, ['statusPageId']]);
    expect(await create({ statusPageId: randomUUID() })).toEqual([404, undefined]);
    expect(await create({ parentId: leaf })).toEqual([400, ['parentId']]);
    expect(await create({ parentId: await other.add('Far', { type: 'GROUP' }) })).toEqual([
      400,
      ['parentId'],
    ]);
    expect(await create({ configuration: { expandedByDefault: true } })).toEqual([
      400,
      ['configuration.expandedByDefault'],
    ]);
    const below = await add('Below', { type: 'GROUP', parentId: group });
    const change = (at: string, fields: object) => refused('PUT', `/components/${at}`, fields);
    expect(await change(group, { parentId: below })).toEqual([400, ['parentId']]);
    expect(await change(group, { parentId: group })).toEqual([400, ['parentId']]);
    expect(await change(leaf, { type: 'GROUP' })).toEqual([400, ['type']]);
    expect(await change(leaf, { statusPageId: other.id })).toEqual([400, ['statusPageId']]);
    const deep = await add('Deep', { type: 'GROUP', parentId: below });
    const deepest = await add('Deepest', { type: 'GROUP', parentId: deep });
    expect(await create({ parentId: deepest })).toEqual([400, ['parentId']]);
    const top = await add('Top', { type: 'GROUP' });
    expect(await change(group, { parentId: top })).toEqual([400, ['parentId']]);
    expect(await change(leaf, { parentId: null, name: 'Leaf 2' })).toEqual([200, undefined]);
    // The version of a page cannot change.
    expect(await refused('PUT', `/${id}`, { version: 2 })).toEqual([400, ['version']]);
    expect(await refused('PUT', `/${id}`, { cards: [{ name: 'x' }] })).toEqual([400, ['cards']]);
    expect(await refused('PUT', `/${cards.id}`, { version: 3 })).toEqual([400, ['version']]);
    expect(await refused('POST', '', { name: 'x', url: 'nocards' })).toEqual([400, ['cards']]);
  });

  /** Creates a page with two components and a rule, and sends it events of checks. */
  async function ruled(fields: object = {}) {
    const page = await newPage();
    const [api, shop] = [await page.add('API'), await page.add('Shop')];
    const rule = await call('POST', `${base}/automation-rules`, {
      ...{ statusPageId: page.id, name: 'Shop trouble', tags: ['shop'] },
      ...{ firstUpdate: 'We look into it.', lastUpdate: 'It is over.' },
      components: [
        { componentId: api, targetImpact: 'PARTIAL_OUTAGE' },
        { componentId: shop, targetImpact: 'MAJOR_OUTAGE' },
      ],
      ...fields,
    });
    const { store } = stage.harness;
    const options = { hasMailer: true, publicUrl: 'https://picket.test/' };
    const handle = automaticIncidents(options);
    const waiting = new WaitingFailures({ ...options, store, clock: stage.clock });
    const checkId = (await createCheck(stage.harness)).id;
    const tell = (kind: 'open' | 'resolve', triggerId: string) =>
      store.transaction((repositories) =>
        handle(repositories, {
          ...{ kind, triggerId, checkId, accountId: stage.harness.accountId },
          ...{ incident: { ruleId: rule.id }, at: stage.clock.wallMs() },
        }),
      );
    const incidents = async () => (await call('GET', `${base}/incidents`)).entries;
    const said = async () =>
      (await incidents()).map(({ incidentUpdates }: { incidentUpdates: { description: string }[] }) =>
        incidentUpdates.map(({ description }) => description),
      );
    return { page, rule, api, shop, tell, waiting, incidents, said };
  }

  it('opens one incident of a rule, whatever fails by it, and resolves it with the last recovery', async () => {
    await stage.start();
    const { page, rule, api, shop, tell, incidents, said } = await ruled();
    await call('POST', `${base}/${page.id}/subscriptions/bulk`, {
      subscriptions: [{ type: 'EMAIL', config: { address: 'reader@example.com' } }],
    });
    await Promise.all([tell('open', 'one'), tell('open', 'one'), tell('open', 'two')]);
    expect(await incidents()).toMatchObject([
      {
        ...{ name: 'Shop trouble', severity: 'CRITICAL', automationRuleId: rule.id, services: [] },
        components: [
          { id: api, impact: 'PARTIAL_OUTAGE' },
          { id: shop, impact: 'MAJOR_OUTAGE' },
        ],
        incidentUpdates: [
          { description: 'We look into it.', status: 'INVESTIGATING', notifySubscribers: true },
        ],
      },
    ]);
    expect(states(await page.shown())).toEqual({ API: 'PARTIAL_OUTAGE', Shop: 'MAJOR_OUTAGE' });
    stage.clock.advance(minuteMs);
    await tell('resolve', 'one');
    await tell('resolve', 'unheard');
    expect(await said()).toEqual([['We look into it.']]);
    // A disabled rule still ends what it began, with the current text.
    await call('PUT', `${base}/automation-rules/${rule.id}`, { enabled: false, lastUpdate: 'Well again.' });
    await Promise.all([tell('resolve', 'two'), tell('resolve', 'two')]);
    expect(await said()).toEqual([['Well again.', 'We look into it.']]);
    await tell('open', 'three');
    expect(await incidents()).toHaveLength(1);
    const mails = await stage.harness.store.subscriberMails.claim(
      stage.harness.accountId,
      stage.clock.wallMs(),
      10,
      stage.clock.wallMs() + minuteMs,
    );
    expect(mails.map(({ subject }) => subject).sort()).toEqual([
      '[Ours] Investigating: Shop trouble',
      '[Ours] Resolved: Shop trouble',
    ]);
  });

  it('lets a rule cool down, and then opens the next incident of ongoing failures', async () => {
    await stage.start();
    const { tell, waiting, incidents, said } = await ruled({ coolDownWindowMinutes: 10 });
    await tell('open', 'one');
    stage.clock.advance(minuteMs);
    await tell('resolve', 'one');
    await tell('open', 'short');
    await tell('open', 'long');
    await tell('open', 'longer');
    expect(await incidents()).toHaveLength(1);
    await tell('resolve', 'short');
    expect(await waiting.turn()).toBe(stage.clock.wallMs() + 10 * minuteMs);
    const counted = async () =>
      /^picket_incident_failures_waiting\{account="[^"]+"\} (\d+)$/m.exec(
        (await ask('GET', '/metrics')).body,
      )?.[1];
    expect(await counted()).toBe('2');
    stage.clock.advance(10 * minuteMs);
    expect(await waiting.turn()).toBeNull();
    expect(await counted()).toBeUndefined();
    expect(await said()).toEqual([['We look into it.'], ['It is over.', 'We look into it.']]);
    stage.clock.advance(minuteMs);
    await tell('resolve', 'long');
    expect((await incidents())[0].lastUpdateStatus).toBe('INVESTIGATING');
    await tell('resolve', 'longer');
    expect((await incidents())[0].lastUpdateStatus).toBe('RESOLVED');
    stage.clock.advance(10 * minuteMs);
    await tell('open', 'four');
    expect(await incidents()).toHaveLength(3);
  });

  it('opens none during a maintenance that suppresses them, and resolves that of a deleted rule', async () => {
    await stage.start();
    const { page, rule, api, tell, waiting, incidents, said } = await ruled();
    const elsewhere = await newPage();
    await elsewhere.add('Mail');
    const at = (ms: number) => new Date(stage.clock.wallMs() + ms).toISOString();
    await call('POST', '/v1/maintenance-windows', {
      ...{ name: 'Move', startsAt: at(-minuteMs), endsAt: at(hourMs) },
      statusPageVisibility: {
        ...{ enabled: true, suppressAutoIncidents: true, componentIds: [api] },
      },
    });
    await tell('open', 'one');
    await tell('open', 'short');
    expect(await incidents()).toEqual([]);
    const during = await page.shown();
    expect(states(during)).toEqual({ API: 'UNDER_MAINTENANCE', Shop: 'OPERATIONAL' });
    expect(during.maintenances).toMatchObject([{ name: 'Move', components: [{ id: api, name: 'API' }] }]);
    expect(await elsewhere.shown()).toMatchObject({ state: 'OPERATIONAL', maintenances: [] });
    stage.clock.advance(30 * minuteMs);
    expect(await waiting.turn()).toBe(stage.clock.wallMs() + minuteMs);
    await tell('resolve', 'short');
    expect(await incidents()).toEqual([]);
    stage.clock.advance(31 * minuteMs);
    await waiting.turn();
    expect(await said()).toEqual([['We look into it.']]);
    await call('DELETE', `${base}/automation-rules/${rule.id}`);
    stage.clock.advance(minuteMs);
    await tell('resolve', 'one');
    expect(await said()).toEqual([['The checks recovered.', 'We look into it.']]);
  });

  it('restricts rules to the components of their page', async () => {
    await stage.start();
    const { page, rule, api } = await ruled();
    const other = await newPage();
    const far = await other.add('Far');
    const refused = async (method: string, path: string, body: object) => {
      const answer = await ask(method, `${base}/automation-rules${path}`, body);
      return [answer.status, answer.body.validation?.keys];
    };
    const to = (componentId: string) => ({ componentId, targetImpact: 'PARTIAL_OUTAGE' });
    const at = `/${rule.id}`;
    expect(await refused('PUT', at, { components: [to(api), to(far)] })).toEqual([
      400,
      ['components.1.componentId'],
    ]);
    expect(await refused('PUT', at, { components: [to(api), to(api)] })).toEqual([
      400,
      ['components.1.componentId'],
    ]);
    expect(await refused('PUT', at, { components: [to(randomUUID())] })).toEqual([404, undefined]);
    expect(await refused('PUT', at, { statusPageId: other.id })).toEqual([400, ['statusPageId']]);
    expect(await refused('PUT', at, { tags: [] })).toEqual([400, ['tags']]);
    const changed = await call('PUT', `${base}/automation-rules/${rule.id}`, {
      tags: ['a', 'b'],
      components: [to(api)],
    });
    expect(changed).toEqual({
      ...rule,
      ...{ tags: ['a', 'b'], components: [to(api)], updated_at: expect.any(String) },
    });
    expect((await call('GET', `${base}/automation-rules?statusPageId=${page.id}`)).entries).toEqual([
      changed,
    ]);
    await call('DELETE', `${base}/components/${api}`);
    expect((await call('GET', `${base}/automation-rules/${rule.id}`)).components).toEqual([]);
  });

  it('finds the rules of a check by its tags and those of its group, and measures components by them', async () => {
    await stage.start();
    const { rule, api, page } = await ruled();
    const { store, accountId } = stage.harness;
    const group = await call('POST', '/v1/check-groups', { name: 'g', tags: ['shop'], locations: [] });
    const tagged = (await createCheck(stage.harness, { tags: ['shop', 'x'] })).id;
    const grouped = (await createCheck(stage.harness, { groupId: group.id })).id;
    const none = (await createCheck(stage.harness, { tags: ['x'] })).id;
    for (const id of [tagged, grouped]) {
      expect(await store.automationRules.matching(accountId, id)).toEqual([rule.id]);
    }
    expect(await store.automationRules.matching(accountId, none)).toEqual([]);
    const stranger = await stage.harness.addAccount();
    expect(await store.automationRules.matching(stranger.accountId, tagged)).toEqual([]);
    const checks = await store.automationRules.checksOfComponents(accountId, page.id);
    const ofApi = checks.filter(({ componentId }) => componentId === api).map(({ checkId }) => checkId);
    expect(ofApi.sort()).toEqual([tagged, grouped].sort());
    await call('PUT', `${base}/automation-rules/${rule.id}`, { enabled: false });
    expect(await store.automationRules.matching(accountId, tagged)).toEqual([]);
  });

  it('refuses in a dry run what a deployment would refuse', async () => {
    await stage.start();
    const { id, add } = await newPage();
    const stored = await add('Stored');
    const of = (type: string, logicalId: string, payload: object) => ({ type, logicalId, payload });
    const page = (name: string, fields: object) =>
      of('status-page', name, { name, url: `dry-${name}`, ...fields });
    const component = (name: string, fields: object) =>
      of('status-page-component', name, { name, statusPageId: { ref: 'new' }, ...fields });
    const dry = async (...resources: object[]) => {
      const body = { project: { logicalId: 'dry', name: 'Dry' }, resources };
      const { status, body: said } = await ask('POST', '/v1/projects/deploy?dryRun=true', body);
      return status === 200 ? 'fine' : said.message.replace(/^.*?: /, '');
    };
    const pages = [page('new', { version: 3 }), page('old', { cards: [] }), page('far', { version: 3 })];
    const group = component('group', { type: 'GROUP' });
    const leaf = component('leaf', { parentId: { ref: 'group' } });
    const rule = (componentId: unknown) =>
      of('status-page-automation-rule', 'rule', {
        ...{ name: 'rule', statusPageId: { ref: 'new' }, tags: ['x'], firstUpdate: 'a', lastUpdate: 'b' },
        components: [{ componentId, targetImpact: 'MAJOR_OUTAGE' }],
      });
    expect(await dry(...pages, group, leaf, rule({ ref: 'leaf' }))).toBe('fine');
    expect(await dry(...pages, component('x', { statusPageId: { ref: 'old' } }))).toContain('page of cards');
    expect(await dry(...pages, group, leaf, component('x', { parentId: { ref: 'leaf' } }))).toContain(
      'must name a GROUP: "leaf"',
    );
    const far = component('x', { statusPageId: { ref: 'far' }, parentId: { ref: 'group' } });
    expect(await dry(...pages, group, far)).toContain('another status page: "group"');
    expect(await dry(...pages, rule(stored))).toContain('another status page: "Stored"');
    expect(await dry(component('x', { statusPageId: id, parentId: stored }))).toContain('a GROUP: "Stored"');
  });
}

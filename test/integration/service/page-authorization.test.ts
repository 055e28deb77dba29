import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../../src/protocol/http/route.ts';
import { automationRuleRoutes } from '../../../src/protocol/pages/automation-rule.ts';
import { dashboardRoutes } from '../../../src/protocol/pages/dashboard.ts';
import { dashboardIncidentRoutes } from '../../../src/protocol/pages/dashboard-incident.ts';
import { incidentRoutes } from '../../../src/protocol/pages/incident.ts';
import { statusPageRoutes } from '../../../src/protocol/pages/status-page.ts';
import { statusPageComponentRoutes } from '../../../src/protocol/pages/status-page-component.ts';
import { subscriptionRoutes } from '../../../src/protocol/pages/subscription.ts';
import { minimalOf } from '../../helpers/service/minimal-value.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { namesPath, withValue, wrongValuesFor } from '../../helpers/service/wrong-values.ts';

let harness: ServiceHarness;
let stranger: { accountId: string; key: string };
/** Ids of real objects, by the path parameter that refers to them. */
let ids: Record<string, string>;

const groups: readonly (readonly [string, Readonly<Record<string, Route>>])[] = [
  ['dashboards', dashboardRoutes],
  ['dashboard incidents', dashboardIncidentRoutes],
  ['status pages', statusPageRoutes],
  ['components', statusPageComponentRoutes],
  ['automation rules', automationRuleRoutes],
  ['incidents', incidentRoutes],
  ['subscriptions', subscriptionRoutes],
];
const routes: readonly Route[] = groups.flatMap(([, group]) => Object.values(group));

const pathOf = (route: Route) =>
  route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`${route.operationId}: no object for ${name}`);
    return id;
  });

/** A valid body of the route that refers to real objects. */
function bodyOf(route: Route): unknown {
  if (!route.body) return undefined;
  const body = minimalOf(route.body) as Record<string, unknown>;
  return {
    ...body,
    ...('incidentUpdates' in body && !('dashboardId' in body) ? { services: [{ id: ids.serviceId }] } : {}),
    ...('statusPageId' in body ? { statusPageId: ids.componentPageId } : {}),
    ...('components' in body
      ? { components: [{ componentId: ids.componentId, targetImpact: 'MAJOR_OUTAGE' }] }
      : {}),
    ...('dashboardId' in body ? { dashboardId: ids.dashboardId } : {}),
    ...('url' in body ? { url: `p${Math.random().toString(36).slice(2)}`, cards: [] } : {}),
  };
}

beforeAll(async () => {
  harness = await openHarness();
  stranger = await harness.addAccount();
  const make = async (path: string, body: unknown) => {
    const answer = await harness.call('POST', path, body);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const { dashboardId } = await make('/v1/dashboards', { header: 'secret header', isPrivate: true });
  const update = { status: 'INVESTIGATING', description: 'secret update' };
  const legacy = await make('/v1/incidents', {
    name: 'secret',
    impact: 'MAJOR',
    dashboardId,
    startedAt: '2026-01-01T00:00:00Z',
    incidentUpdates: [update],
  });
  const service = await make('/v1/status-pages/services', { name: 'secret service' });
  const page = await make('/v1/status-pages', { name: 'secret page', url: 'secret-page', cards: [] });
  const statusPageId = (await make('/v1/status-pages', { name: 'secret', url: 'secret-parts', version: 3 }))
    .id;
  const component = await make('/v1/status-pages/components', { statusPageId, name: 'secret component' });
  const rule = await make('/v1/status-pages/automation-rules', {
    ...{ statusPageId, name: 'secret rule', tags: ['secret'], firstUpdate: 'secret', lastUpdate: 'secret' },
    components: [{ componentId: component.id, targetImpact: 'MAJOR_OUTAGE' }],
  });
  const incident = await make('/v1/status-pages/incidents', {
    name: 'secret incident',
    severity: 'MINOR',
    services: [{ id: service.id }],
    incidentUpdates: [update],
  });
  const subscriptions = `/v1/status-pages/${page.id}/subscriptions`;
  await make(`${subscriptions}/bulk`, {
    subscriptions: [{ type: 'EMAIL', config: { address: 'secret@example.com' } }],
  });
  const listed = await harness.call('GET', subscriptions);
  ids = {
    dashboardId,
    id: legacy.id,
    updateId: legacy.incidentUpdates[0].id,
    serviceId: service.id,
    statusPageId: page.id,
    componentPageId: statusPageId,
    componentId: component.id,
    automationRuleId: rule.id,
    incidentId: incident.id,
    incidentUpdateId: incident.incidentUpdates[0].id,
    subscriptionId: listed.body.entries[0].id,
  };
});
afterAll(async () => {
  await harness.close();
});

describe.each(groups)('%s', (_name, group) => {
  it.each(Object.values(group).map((route) => [route.operationId, route] as const))(
    '%s shows a stranger nothing and lets it change nothing',
    async (_operation, route) => {
      const body = bodyOf(route);
      const answer = await harness.call(route.method, pathOf(route), body, { key: stranger.key });
      const namesForeignObjects =
        route.params !== undefined ||
        JSON.stringify(body ?? '').includes(String(ids.serviceId)) ||
        JSON.stringify(body ?? '').includes(String(ids.componentPageId)) ||
        JSON.stringify(body ?? '').includes(String(ids.dashboardId));
      if (namesForeignObjects) expect([route.operationId, answer.status]).toEqual([route.operationId, 404]);
      else expect(answer.status).toBeLessThan(300);
      expect(JSON.stringify(answer.body)).not.toContain('secret');
    },
  );
});

it('finds nothing under another parent of the same account', async () => {
  const { body: page } = await harness.call('POST', '/v1/status-pages', {
    name: 'x',
    url: 'other',
    cards: [],
  });
  const update = { status: 'IDENTIFIED', description: 'other' };
  const { body: incident } = await harness.call('POST', '/v1/status-pages/incidents', {
    name: 'other',
    severity: 'MINOR',
    services: [{ id: ids.serviceId }],
    incidentUpdates: [update, update].slice(1),
  });
  const { body: legacy } = await harness.call('POST', '/v1/incidents', {
    name: 'other',
    impact: 'MINOR',
    dashboardId: ids.dashboardId,
    startedAt: '2026-01-01T00:00:00Z',
    incidentUpdates: [update],
  });
  const own = { ...ids };
  ids = { ...ids, statusPageId: page.id, incidentId: incident.id, id: legacy.id };
  const nested = routes.filter(({ path }) => path.split('{').length > 2);
  expect(nested.length).toBe(6);
  for (const route of nested) {
    const answer = await harness.call(route.method, pathOf(route), bodyOf(route));
    expect([route.operationId, answer.status]).toEqual([route.operationId, 404]);
  }
  ids = own;
});

it('left everything unchanged', async () => {
  for (const route of routes.filter(({ method, params }) => method === 'GET' && params)) {
    const answer = await harness.call('GET', pathOf(route));
    expect([route.operationId, answer.status]).toEqual([route.operationId, 200]);
    expect(JSON.stringify(answer.body)).toContain('secret');
  }
});

describe('wrong fields', () => {
  it.each(routes.filter(({ body }) => body).map((route) => [route.operationId, route] as const))(
    '%s refuses each with 400 and names it',
    async (_operation, route) => {
      if (!route.body) throw new Error('no body');
      const valid = bodyOf(route);
      const wrong = wrongValuesFor(route.body);
      expect(wrong.length).toBeGreaterThan(5);
      const unrefused: string[] = [];
      for (const { path, value, why } of wrong) {
        const answer = await harness.call(route.method, pathOf(route), withValue(valid, path, value));
        const keys = answer.body.validation?.keys ?? [];
        if (answer.status !== 400 || !namesPath(keys, path)) {
          unrefused.push(`${path.join('.')}: ${why} -> ${answer.status} ${JSON.stringify(answer.body)}`);
        }
      }
      expect(unrefused).toEqual([]);
    },
  );

  it('are not refused by mistake: their valid originals are accepted', async () => {
    const answers: [string, boolean][] = [];
    for (const route of routes.filter(({ body }) => body)) {
      const answer = await harness.call(route.method, pathOf(route), bodyOf(route));
      answers.push([route.operationId, answer.status < 300]);
    }
    expect(answers.filter(([, isTaken]) => !isTaken)).toEqual([]);
  });
});

it.each([
  ['/v1/reporting?from=yesterday', 'from'],
  ['/v1/reporting?quickRange=last24Hours', 'quickRange'],
  ['/v1/reporting?from=2026-01-02&to=2026-01-01', 'to'],
  ['/v1/reporting?deactivated=perhaps', 'deactivated'],
  ['/v1/reporting?filterByTags=', 'filterByTags'],
  ['/v1/badges/groups/1?style=round', 'style'],
  ['/v1/badges/groups/1?theme=blue', 'theme'],
  ['/v1/badges/groups/1?responseTime=2', 'responseTime'],
  ['/v1/dashboards?limit=101', 'limit'],
  ['/v1/public/dashboards/x?page=0', 'page'],
])('refuses %s and names the field', async (path, key) => {
  const answer = await harness.call('GET', path);
  expect([answer.status, answer.body.validation]).toEqual([400, { source: 'query', keys: [key] }]);
});

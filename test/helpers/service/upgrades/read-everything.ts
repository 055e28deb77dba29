import { pages } from '../../../../src/console/registry.ts';
import type { Route } from '../../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../../src/server/features.ts';
import { addKey } from '../../../../src/service/accounts/accounts.ts';
import { filled, KnownObjects } from '../api-requests/known-objects.ts';
import { addMember, memberLoggedIn } from '../members.ts';
import { minimalQuery } from '../minimal-value.ts';
import type { ServiceHarness } from '../service.ts';

export interface Reading {
  /** Requests whose response matched its schema. */
  readonly answered: number;
  /** Operations that returned an object. */
  readonly shown: ReadonlySet<string>;
  readonly problems: readonly string[];
  readonly known: KnownObjects;
}

/** Streams and long polls have separate tests, which send events or end them. */
const isLong = (route: Route) => /^(await|follow)/.test(route.operationId);

/** Reads everything of an account: every GET operation for every object that is known or that a list contains. */
export async function readEverything(
  harness: ServiceHarness,
  accountId: string,
  ids: Readonly<Record<string, readonly (readonly string[])[]>> = {},
): Promise<Reading> {
  const { rawKey: key } = await addKey(harness.store, harness.clock, {
    accountId,
    name: 'reader',
    role: 'ADMIN',
  });
  const known = new KnownObjects();
  for (const [path, objects] of Object.entries(ids))
    for (const values of objects) known.add(pathOf(path), values);
  const problems: string[] = [];
  const shown = new Set<string>();
  let answered = 0;
  const reads = allRoutes.filter((route) => route.method === 'GET' && !isLong(route));
  for (const route of reads.toSorted((one, other) => depth(one.path) - depth(other.path))) {
    const isOfOne = route.path.includes('{');
    for (const values of isOfOne ? known.of(route.path) : [[]]) {
      const url = `${filled(route.path, values)}${minimalQuery(route)}`;
      const { status, body } = await harness.call('GET', url, undefined, { key });
      const problem = problemOf(route, status, body);
      if (problem) problems.push(`GET ${url}: ${problem}`);
      else answered += 1;
      if (status !== 200) continue;
      shown.add(route.operationId);
      learn(known, route, values, body);
    }
  }
  return { answered, shown, problems, known };
}

/** Requests every page as an admin, for every known object. */
export async function readPages(
  harness: ServiceHarness,
  accountId: string,
  known: KnownObjects,
): Promise<Pick<Reading, 'answered' | 'problems'>> {
  await addMember(harness, 'reader@example.com', 'ADMIN', { accountId });
  const visitor = await memberLoggedIn(harness, 'reader@example.com');
  const problems: string[] = [];
  let answered = 0;
  for (const { method = 'GET', path } of pages) {
    if (method !== 'GET' || path.includes('*')) continue;
    for (const values of objectsOf(known, path)) {
      let place = 0;
      const url = path.replaceAll(/:\w+/g, () => encodeURIComponent(values[place++] ?? ''));
      const { status, body } = await visitor.get(url);
      if (status >= 500) problems.push(`page ${url}: ${status} ${body.slice(0, 200)}`);
      else if (status === 200) answered += 1;
    }
  }
  return { answered, problems };
}

const depth = (path: string) => path.split('{').length;
const pathOf = (path: string) => path.slice(0, path.lastIndexOf('}') + 1).replaceAll(/\{\w*\}/g, '{}');

function problemOf(route: Route, status: number, body: unknown): string | undefined {
  if (status >= 500) return `${status} ${JSON.stringify(body).slice(0, 300)}`;
  if (status !== 200 || !route.response || route.isResponseRaw) return undefined;
  const schema = route.documentedResponse ?? route.response;
  const error = schema.safeParse(body).error;
  if (!error) return undefined;
  const [issue] = error.issues;
  return `beside its schema: ${issue?.path.join('.')} ${issue?.message}`;
}

/** Adds the objects of a list. */
function learn(known: KnownObjects, route: Route, values: readonly string[], body: unknown): void {
  const entries = Array.isArray(body) ? body : (body as { entries?: unknown } | null)?.entries;
  if (!Array.isArray(entries)) return;
  const path = `${route.path.replaceAll(/\{\w*\}/g, '{}')}/{}`;
  for (const entry of entries.slice(0, 40)) {
    const { id, key, slug } = (entry ?? {}) as Record<string, unknown>;
    const own = id ?? key ?? slug;
    if (typeof own !== 'string' && typeof own !== 'number') continue;
    // `.` and `..` would be resolved before the request reaches a route.
    if (/^\.\.?$/.test(String(own))) continue;
    const all = [...values, String(own)];
    if (!known.of(path).some((one) => one.join() === all.join())) known.add(path, all);
  }
}

/** The objects that pages show, by path prefix; the longest prefix counts. */
const shownByPages: Readonly<Record<string, string>> = {
  '/checks/': '/v1/checks/{}',
  '/checks/:checkId/runs/': '/v1/check-results/{}/{}',
  '/groups/': '/v1/check-groups/{}',
  '/locations/': '/v1/private-locations/{}',
  '/alerts/channels/': '/v1/alert-channels/{}',
  '/sessions/checks/': '/v1/check-sessions/{}',
  '/sessions/tests/': '/v1/test-sessions/{}',
  '/sessions/tests/:id/results/': '/v1/test-sessions/{}/results/{}',
  '/pages/status/': '/v1/status-pages/{}',
  '/pages/dashboards/': '/v1/dashboards/{}',
  '/pages/incidents/': '/v1/status-pages/incidents/{}',
  '/pages/maintenance/': '/v1/maintenance-windows/{}',
  '/settings/variables/': '/v1/variables/{}',
  '/settings/snippets/': '/v1/snippets/{}',
  '/settings/client-certificates/': '/v1/client-certificates/{}',
  '/settings/slos/': '/v1/slos/{}',
};

function objectsOf(known: KnownObjects, path: string): (readonly string[])[] {
  if (!path.includes(':')) return [[]];
  const beginnings = Object.keys(shownByPages).filter((start) => path.startsWith(start));
  const longest = beginnings.toSorted((one, other) => other.length - one.length)[0];
  return longest === undefined ? [] : [...known.of(shownByPages[longest] ?? '')];
}

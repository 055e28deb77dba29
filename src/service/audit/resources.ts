import type { Route } from '@picket/protocol/http/route.ts';

type Values = Readonly<Record<string, unknown>>;

/** The subject of a write: the operation that shows it, and its path. */
export interface Subject {
  /** Operation that shows the resource; undefined if none does. */
  readonly read: Route | undefined;
  /** Path of the resource, with the parameters of the write or of `read`. */
  readonly path: string;
}

const parameter = /^\{(\w+)\}$/;

/**
 * Subject of a write, derived from the route table alone. A write to a part (`/v1/incidents/{id}/updates`) concerns the
 * whole that an operation shows, a create concerns the resource in its response, and checks of every type are checks.
 */
export function subjectOf(route: Route, routes: readonly Route[]): Subject {
  const reads = readsOf(routes);
  const created =
    route.method === 'POST' && !route.path.includes('{') ? memberOf(route.path, reads) : undefined;
  if (created) return created;
  const parts = route.path.split('/');
  for (let length = parts.length; length > 2; length -= 1) {
    const path = generalised(parts.slice(0, length), reads);
    const read = reads.get(path);
    if (read && (path === route.path || path.includes('{'))) return { read, path };
  }
  const last = parts.findLastIndex((part) => parameter.test(part));
  return { read: undefined, path: last === -1 ? route.path : parts.slice(0, last + 1).join('/') };
}

/** Route tables never change, and every write needs this. */
const known = new WeakMap<readonly Route[], ReadonlyMap<string, Route>>();

/** Operations that show a resource, by path. */
function readsOf(routes: readonly Route[]): ReadonlyMap<string, Route> {
  const found = known.get(routes);
  if (found) return found;
  const shown = routes.filter(
    ({ method, response, isResponseRaw }) => method === 'GET' && response && !isResponseRaw,
  );
  const reads = new Map(shown.map((read) => [read.path, read]));
  known.set(routes, reads);
  return reads;
}

/** `/v1/checks/url` creates a resource that `/v1/checks/{id}` shows. */
function memberOf(path: string, reads: ReadonlyMap<string, Route>): Subject | undefined {
  const parts = path.split('/');
  for (let length = parts.length; length > 2; length -= 1) {
    const start = `${parts.slice(0, length).join('/')}/`;
    const own = [...reads.keys()].find(
      (one) => one.startsWith(start) && parameter.test(one.slice(start.length)),
    );
    const general = own && generalised(own.split('/'), reads);
    if (general) return { read: reads.get(general), path: general };
  }
  return undefined;
}

/** Shortest path of an operation with the same parameters: `/v1/checks/{id}` for `/v1/checks/url/{id}`. */
function generalised(parts: readonly string[], reads: ReadonlyMap<string, Route>): string {
  const first = parts.findIndex((part) => parameter.test(part));
  for (let kept = 3; first !== -1 && kept < first; kept += 1) {
    const path = [...parts.slice(0, kept), ...parts.slice(first)].join('/');
    if (reads.has(path)) return path;
  }
  return parts.join('/');
}

/**
 * Parameters of the operation that shows the subject: those of the write, and of its response; null if one is unknown.
 */
export function valuesFor({ path }: Subject, params: Values, answer: Values = {}): Values | null {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const entries = names.map((name) => [name, params[name] ?? answer[name] ?? answer.id] as const);
  return entries.some(([, value]) => value === undefined) ? null : Object.fromEntries(entries);
}

/** `checks/<id>`, without the id if it is unknown. */
export function resourceName({ path }: Subject, values: Values | null): string {
  const known = values === null ? path.slice(0, Math.max(0, path.indexOf('/{'))) || path : path;
  const named = known.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values?.[name]));
  return named.replace(/^\/v\d+\//, '').slice(0, 300);
}

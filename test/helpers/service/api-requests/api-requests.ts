import { parse } from 'node:querystring';
import fc from 'fast-check';
import { z } from 'zod';
import { errorStatuses } from '../../../../src/platform/http/openapi.ts';
import { unknownFieldIssues } from '../../../../src/platform/http/unknown-names.ts';
import { AgentErrorEvent } from '../../../../src/protocol/agent/agent-error.ts';
import type { Route } from '../../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../../src/server/features.ts';
import { minimalBody } from '../minimal-value.ts';
import { namesPath, type WrongValue, withValue, wrongValuesFor } from '../wrong-values.ts';
import type { InhabitedAccount } from './inhabited-account.ts';
import { filled, keyOf, type PathValues } from './known-objects.ts';
import { valuesOf } from './schema-values.ts';

type Json = Record<string, unknown>;

/** A generated request. Its parts are put together when it is sent, since known objects change. */
export interface PlannedRequest {
  readonly route: Route;
  readonly body: unknown;
  readonly query: unknown;
  readonly wrong: WrongValue | undefined;
  /** Selects among known objects. */
  readonly turn: number;
  readonly pathValues: 'known' | 'first' | 'last' | 'unknown' | 'nonsense';
  readonly nonsense: readonly string[];
}

/** Result of one request. */
export interface Outcome {
  readonly route: Route;
  readonly status: number;
  /** The request and its response as text. */
  readonly told: string;
  /** Reason why the response breaks the contract; undefined if it does not. */
  readonly problem: string | undefined;
}

/** Routes that wait for other calls; they have separate tests with those calls. */
const waits = new Set([
  'callTrigger',
  'awaitCheckSession',
  'awaitTestSession',
  'awaitDeployment',
  'followDeployment',
  'testAlertChannel',
]);

/**
 * Streams need real connections, and MCP gives valid JSON its own meaning, which no schema describes. Both have
 * separate tests.
 */
const plansByRoute = new Map(
  allRoutes
    .filter(({ isBodyRaw, operationId }) => !isBodyRaw && operationId !== 'callMcp')
    .map((route) => [route, plansOf(route)] as const),
);

/** Requests to every route, with equal probability. */
export const plannedRequests: fc.Arbitrary<PlannedRequest> = fc.oneof(...plansByRoute.values());

function plansOf(route: Route): fc.Arbitrary<PlannedRequest> {
  // The body is not JSON, but contains an event that is.
  const schema = route.bodyContentType ? AgentErrorEvent.schema : (route.documentedBody ?? route.body);
  const wrong = schema ? wrongValuesFor(schema) : [];
  return fc.record({
    route: fc.constant(route),
    body: schema ? valuesOf(schema) : fc.constant(undefined),
    query: route.query ? valuesOf(route.query) : fc.constant({}),
    wrong:
      wrong.length > 0
        ? fc.option(fc.constantFrom(...wrong), { nil: undefined, freq: 2 })
        : fc.constant(undefined),
    turn: fc.nat(),
    pathValues: fc.oneof(
      { weight: 8, arbitrary: fc.constant('known' as const) },
      { weight: 1, arbitrary: fc.constant('unknown' as const) },
      { weight: 1, arbitrary: fc.constant('nonsense' as const) },
    ),
    // `.` and `..` would be resolved before the request reaches a route.
    nonsense: fc.array(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((text) => !/^\.\.?$/.test(text)),
      { minLength: 3, maxLength: 3 },
    ),
  });
}

/** Sends a request and checks its response against the schemas of its route. */
export async function sendPlanned(account: InhabitedAccount, plan: PlannedRequest): Promise<Outcome> {
  const { route } = plan;
  const values = pathValuesOf(account, plan);
  const body = bodyOf(account, plan);
  const query = queryOf(plan);
  const url = `${filled(route.path, values)}${query === '' ? '' : `?${query}`}`;
  const answer = await account.harness.call(route.method, url, body, {
    key: route.credential === 'location' ? account.location.key : account.harness.key,
    ...(route.bodyContentType ? { headers: { 'content-type': route.bodyContentType } } : {}),
  });
  const { status } = answer;
  remember(account, route, values, answer);
  const problem = problemOf(route, { values, query, body }, answer);
  const sent = `${route.method} ${url} ${JSON.stringify(body)?.slice(0, 2000)}`;
  const told = `${sent} -> ${status} ${JSON.stringify(answer.body).slice(0, 1000)}`;
  return { route, status, told, problem: problem && `${problem}: ${told}` };
}

function pathValuesOf(
  account: InhabitedAccount,
  { route, turn, pathValues, nonsense }: PlannedRequest,
): PathValues {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const known = account.known.of(route.path);
  const one = pathValues === 'first' ? known[0] : pathValues === 'last' ? known.at(-1) : undefined;
  if (one) return one;
  // The first of each kind is kept, so that one always exists.
  const first = route.method === 'DELETE' ? 1 : 0;
  if (pathValues === 'known' && known.length > first && !waits.has(route.operationId)) {
    return known[first + (turn % (known.length - first))] ?? [];
  }
  if (pathValues === 'nonsense') return names.map((_, index) => readable(nonsense[index] ?? 'x'));
  return names.map((name) => {
    const schema = route.params?.shape[name];
    const id = [crypto.randomUUID(), String(turn), '1999.01', 'a'.repeat(32)];
    return id.find((text) => schema?.safeParse(text).success) ?? 'unknown';
  });
}

/** Segments that consist of dots change the path, and slashes split it. */
function readable(text: string): string {
  return /^\.+$/.test(text) ? 'dots' : text.replaceAll('/', '-');
}

function queryOf({ route, query, turn }: PlannedRequest): string {
  const isFree = turn % 4 === 0;
  const pairs = Object.entries((query ?? {}) as Json).flatMap(([key, value], index) => {
    if (!isFree && ((turn >> index) & 3) !== 0) return [];
    const schema = route.query?.shape[key];
    const fits = (one: unknown) => schema?.safeParse(one).success ?? true;
    return [value].flat().map((one): [string, string] => {
      if (waits.has(route.operationId)) return [key, '1'];
      const text = String(one);
      // The schema accepts any text; its meaning is checked by a refinement only.
      return [key, isFree || fits(text) ? text : (readableTexts.find(fits) ?? text)];
    });
  });
  return new URLSearchParams(pairs).toString();
}

const readableTexts = ['true', '2026-01-01T00:00:00Z', '1', 'x'];

/** The planned body with references to existing objects, so that it is refused only for its planned error. */
function bodyOf(account: InhabitedAccount, { route, body, wrong, turn }: PlannedRequest): unknown {
  const isEmpty = Object.keys((body ?? {}) as Json).length === 0;
  const event = isEmpty ? account.bodies.get(`${route.method} ${route.path}`) : body;
  if (route.bodyContentType) return `{}\n{"type":"event"}\n${JSON.stringify(event)}`;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const right = account.bodies.get(`${route.method} ${route.path}`) ?? (minimalBody(route) as Json);
  // Only some of many fields at a time: with all of them, one would always violate a rule that no schema expresses.
  const keys = Object.keys(body as Json).filter((_, index) => turn % 4 === 0 || ((turn >> index) & 3) === 0);
  const some = Object.fromEntries(keys.map((key) => [key, (body as Json)[key]]));
  if (turn % 4 !== 0) dropWrong(route, some);
  const settled = settle({ ...right, ...some }, account, turn);
  const own = { ...(settled as Json), ...ownFields(account, route, turn) };
  return wrong ? withValue(own, wrong.path, wrong.value) : own;
}

/** Removes fields that violate a rule that their JSON Schema does not express. */
function dropWrong({ body }: Route, fields: Json): void {
  const shape = body instanceof z.ZodObject ? body.shape : {};
  for (const [key, value] of Object.entries(fields)) {
    if (shape[key] && !z.safeParse(shape[key], value).success) delete fields[key];
  }
}

/** Fields that bodies of these routes require although no schema says so. */
function ownFields(account: InhabitedAccount, route: Route, turn: number): Json {
  switch (route.operationId) {
    case 'createClientCertificate':
      return { ...account.certificate, ca: null, passphrase: null };
    case 'claimRuns':
      return { waitMs: 0 };
    case 'createStatusPageComponent':
    case 'createAutomationRule':
      return { statusPageId: account.known.idOf('/v1/status-pages/{}', 1) };
    case 'updateAlertChannelSubscriptions':
      return turn % 2 === 0 ? { groupId: undefined } : { checkId: undefined };
    default:
      return {};
  }
}

/** Fields that refer to other objects, with the path of these objects. */
const references: ReadonlyMap<string, string> = new Map([
  ['alertChannelId', '/v1/alert-channels/{}'],
  ['checkId', '/v1/checks/{}'],
  ['dashboardId', '/v1/dashboards/{}'],
  ['groupId', '/v1/check-groups/{}'],
  ['serviceId', '/v1/status-pages/services/{}'],
  ['componentId', '/v1/status-pages/components/{}'],
  ['parentId', '/v1/status-pages/components/{}'],
  ['setupSnippetId', '/v1/snippets/{}'],
  ['tearDownSnippetId', '/v1/snippets/{}'],
]);
const numbers = new Set(['alertChannelId', 'groupId', 'setupSnippetId', 'tearDownSnippetId']);

function settle(value: unknown, account: InhabitedAccount, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item, index) => settle(item, account, turn + index));
  if (typeof value !== 'object' || value === null) return value;
  const settled: Json = {};
  for (const [key, child] of Object.entries(value)) {
    const path = references.get(key);
    const id = path === undefined ? undefined : account.known.idOf(path, turn);
    if (key === 'frequencyOffset') continue;
    if (key === 'privateLocations') settled[key] = [account.location.slugName];
    else if (key === 'checkIds') settled[key] = [account.known.idOf('/v1/checks/{}', turn)];
    else if (key === 'runLocation' && typeof child === 'string') settled[key] = account.location.slugName;
    else if (key === 'services' && Array.isArray(child)) {
      settled[key] =
        child.length === 0 ? [] : [{ id: account.known.idOf('/v1/status-pages/services/{}', turn) }];
    } else if (id !== undefined && child !== null) settled[key] = numbers.has(key) ? Number(id) : id;
    else settled[key] = settle(child, account, turn);
  }
  return settled;
}

interface Sent {
  readonly values: PathValues;
  readonly query: string;
  readonly body: unknown;
}

type Answer = Awaited<ReturnType<InhabitedAccount['harness']['call']>>;

/** Statuses of refusals that depend on the state of the account, not on the form of the request. */
const refusals = new Set([402, 404, 408, 409, 413]);

function problemOf(route: Route, sent: Sent, answer: Answer): string | undefined {
  const { status, body } = answer;
  if (status >= 500) return 'a fault of ours';
  const isSuccess = [route.success, route.otherSuccess].some((success) => success?.statusCode === status);
  if (!isSuccess && !errorStatuses(route).includes(status)) {
    return 'a status that the OpenAPI document does not name';
  }
  const wrong = wrongParts(route, sent);
  if (wrong.length > 0) return refusalProblem(wrong, answer);
  if (isSuccess) return answerProblem(route, body);
  // A page may have become private.
  const isKept = status === 401 && route.credential === 'none';
  // An import may have been applied or committed before.
  const isOutOfOrder = status === 403 && route.operationId.endsWith('ProjectImport');
  // A generated request has no valid signature.
  const isUnsigned = status === 403 && route.operationId === 'openAsset';
  // It is possible that no check has any of the generated tags.
  const isUnmatched = status === 403 && body?.errorCode === 'ERR_NO_MATCHING_CHECKS';
  if (refusals.has(status) || isKept || isOutOfOrder || isUnsigned || isUnmatched)
    return body?.statusCode === status && body.message ? undefined : 'an error without its words';
  // A rule that no schema expresses; the error still names its field.
  if (status === 400 && (body.validation?.keys?.length > 0 || route.bodyContentType)) return undefined;
  return 'refused though every field is right';
}

interface WrongPart {
  readonly source: 'params' | 'query' | 'payload';
  readonly paths: readonly (readonly PropertyKey[])[];
}

/** The parts of a request that the schemas refuse. */
function wrongParts(route: Route, { values, query, body }: Sent): WrongPart[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const params = Object.fromEntries(names.map((name, index) => [name, values[index]]));
  const parts: readonly (readonly [WrongPart['source'], Route['body'], unknown])[] = [
    ['params', route.params, params],
    ['query', route.query, { ...parse(query) }],
    ['payload', route.bodyContentType ? undefined : route.body, toJson(body)],
  ];
  return parts.flatMap(([source, schema, value]) => {
    if (!schema || (source === 'payload' && value === undefined)) return [];
    const isUnstorable = unstorable(value);
    if (source === 'payload' && route.credential !== 'location' && isUnstorable)
      return [{ source, paths: [[]] }];
    const { error } = schema.safeParse(value);
    const unknown = source === 'payload' ? unknownFieldIssues(route, value) : [];
    const paths = [...unknown, ...(error?.issues ?? [])].map(({ path }) => path);
    return paths.length > 0 ? [{ source, paths }] : [];
  });
}

const toJson = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);

/** Whether a text contains characters that no database can store. */
function unstorable(value: unknown): boolean {
  const text = JSON.stringify(value) ?? '';
  return text.includes('\\u0000') || /\\ud[89a-f]/i.test(text);
}

function refusalProblem(wrong: readonly WrongPart[], { status, body }: Answer): string | undefined {
  // A body that is too large is not read, so its other errors remain unknown.
  if (status === 413) return body?.message ? undefined : 'an error without its words';
  if (status !== 400) return `not refused with 400, though ${wrong.map(({ source }) => source)} is wrong`;
  const { validation, message } = body;
  const part = wrong.find(({ source }) => source === validation?.source);
  if (!part || !message) return `does not say that ${wrong.map(({ source }) => source)} is wrong`;
  const keys: readonly string[] = validation.keys;
  const isNamed = part.paths.some(
    (path) =>
      path.length === 0 ||
      namesPath(keys, path.map(String)) ||
      keys.some((key) => path.join('.').startsWith(key)),
  );
  return isNamed ? undefined : `does not name ${part.paths.map((path) => path.join('.'))}`;
}

function answerProblem(route: Route, body: unknown): string | undefined {
  if (!route.response || route.isResponseRaw) return undefined;
  for (const schema of [route.response, route.documentedResponse]) {
    const error = schema?.safeParse(body).error;
    if (error)
      return `an answer beside its schema (${error.issues[0]?.path.join('.')} ${error.issues[0]?.message})`;
  }
  return undefined;
}

/** Adds objects that a request created, and removes those that it deleted. */
function remember(
  account: InhabitedAccount,
  route: Route,
  values: PathValues,
  { status, body }: Answer,
): void {
  if (status !== route.success.statusCode) return;
  const { known } = account;
  if (route.method === 'DELETE') {
    known.remove(route.path, values);
    return;
  }
  const made = (body ?? {}) as Json;
  if (route.method !== 'POST' || waits.has(route.operationId)) return;
  const path = keyOf(`${route.path}/{id}`);
  const shows = allRoutes.find((one) => one.method === 'GET' && keyOf(one.path) === path);
  if (!shows) return;
  const keyName = /\{(\w+)\}$/.exec(shows.path)?.[1] ?? 'id';
  const id = made[keyName] ?? made.id;
  if (typeof id !== 'string' && typeof id !== 'number') return;
  known.add(path, [...values, String(id)]);
  if (/^\/v1\/checks\/\w+$/.test(route.path)) known.add('/v1/checks/{}', [String(id)]);
}

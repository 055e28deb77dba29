import { afterAll, beforeAll, expect, it } from 'vitest';
import { failure } from '../../../src/checks/contract/failure.ts';
import { checkTypes, findCheckType } from '../../../src/checks/index.ts';
import type { ResultReport } from '../../../src/protocol/agent/agent.ts';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { everyPage } from '../../helpers/console/every-page.ts';
import { payloads, textsThatFit } from '../../helpers/console/hostile-texts.ts';
import { type Path, valueAt, wholeOf, withValueAt } from '../../helpers/console/hostile-values.ts';
import { sampleOf } from '../../helpers/night.ts';
import { type InhabitedAccount, inhabit } from '../../helpers/service/api-requests/inhabited-account.ts';
import { filled } from '../../helpers/service/api-requests/known-objects.ts';
import { minimalBody } from '../../helpers/service/minimal-value.ts';
import { reportOf, TestAgent } from '../../helpers/service/service.ts';

// Every text that a person, a target, a script or an agent can write, according to the schemas, shown on every page: in
// one service and one browser, with many fields and many payloads on each page.
let stage: ConsoleStage;
let account: InhabitedAccount;
/** Fields that accepted one of our texts, by operation. */
const written = new Map<string, number>();

/** Pages of runs with hostile results: not all of them are linked from a list. */
const runs: string[] = [];

/** Routes that start runs, wait for them, send messages, end the session, or read the whole account each time. */
const others = /^(await|call|test|trigger|delete|claim|renew|release|ping|import|createProjectImport)/;

beforeAll(async () => {
  stage = await ConsoleStage.open();
  const { harness } = stage;
  account = await inhabit(harness, stage.location);
  const routes = allRoutes.filter(
    ({ body, method, operationId, credential, isBodyRaw, bodyContentType }) =>
      body &&
      method !== 'GET' &&
      !isBodyRaw &&
      !bodyContentType &&
      credential === 'account' &&
      !others.test(operationId),
  );
  for (const route of routes) await writeByPeople(route);
  await writeByAgents();
  await writeResults();
}, 900_000);
afterAll(() => stage?.close(), 240_000);

/** Sends the body of a route with our text in every field; refused fields get a valid value. */
async function writeByPeople(route: Route): Promise<void> {
  const { harness } = stage;
  const key = `${route.method} ${route.path}`;
  const right = account.bodies.get(key) ?? minimalBody(route);
  const target = route.path.includes('{') ? account.known.of(route.path)[0] : [];
  if (!target || !route.body) return;
  const path = filled(route.path, target);
  // Fields are short: each turn uses other texts, and at night every text has been used in the end.
  const isCheck = route.path.startsWith('/v1/checks');
  const turns = sampleOf(
    [...payloads.keys()].filter((turn) => !isCheck || turn % 10 === 0),
    8,
  );
  const refused = new Set<string>();
  for (const turn of route.method === 'POST' ? turns : [0]) {
    const whole = wholeOf(route.body, (maxLength) => textsThatFit(turn, maxLength));
    let body: unknown = { ...(right as object), ...(whole as object) };
    for (const name of refused) body = asNeeded(body, right, name);
    for (let round = 0; round < 25; round += 1) {
      const { status, body: answer } = await harness.call(route.method, path, body);
      if (status < 300) {
        written.set(route.operationId, Math.max(written.get(route.operationId) ?? 0, countTexts(body)));
        break;
      }
      const keys: string[] = answer.validation?.keys ?? [];
      const next =
        keys.find((one) => !refused.has(one)) ?? Object.keys(body as object).find((one) => !refused.has(one));
      if (status >= 500) throw new Error(`${key}: ${status} ${JSON.stringify(answer)}`);
      if (next === undefined) return;
      refused.add(next);
      body = asNeeded(body, right, next);
    }
  }
}

function asNeeded(body: unknown, right: unknown, name: string): unknown {
  const path: Path = name.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return withValueAt(body, path, valueAt(right, path));
}

function countTexts(value: unknown): number {
  if (typeof value === 'string') return value.includes('alert(') ? 1 : 0;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + countTexts(one), 0);
}

/** Texts that agents report about themselves, their location and their errors. */
async function writeByAgents(): Promise<void> {
  const { harness } = stage;
  for (const route of allRoutes.filter(
    ({ credential, body, isBodyRaw, method, bodyContentType }) =>
      credential === 'location' && body && !isBodyRaw && method !== 'GET' && !bodyContentType,
  )) {
    if (!route.body || /results|leases/.test(route.path)) continue;
    for (const turn of [0, 20, 40, 60]) {
      const agent = new TestAgent(harness, account.location, `agent-${turn}`);
      const whole = wholeOf(route.body, (maxLength) => textsThatFit(turn, maxLength));
      const fixed = route.operationId.startsWith('claim')
        ? { freeSlots: { probe: 0, script: 0 }, checkTypes: ['URL'], waitMs: 0 }
        : {};
      const body = { ...(whole as object), ...agent.identity, ...fixed };
      const { status } = await harness.call('POST', route.path, body, { key: account.location.key });
      if (status < 300) written.set(route.operationId, countTexts(body));
    }
  }
}

/** Runs a check of each type with a hostile text in every finding. */
async function writeResults(): Promise<void> {
  const { harness } = stage;
  const agent = new TestAgent(harness, account.location, 'agent-of-results');
  const all = { checkTypes: checkTypes.map(({ name }) => name), freeSlots: { probe: 100, script: 100 } };
  await agent.claim(all);
  const { body: checks } = await harness.call('GET', '/v1/checks?limit=100');
  for (const type of checkTypes.filter(({ pings }) => !pings)) {
    const check = checks.find((one: { checkType: string }) => one.checkType === type.name);
    if (!check) throw new Error(`there is no check of type ${type.name}`);
    await harness.call('PUT', `/v1/checks/${check.id}`, { privateLocations: ['lab'], activated: true });
    for (const isFailed of [true, false]) {
      await harness.call('POST', '/v1/check-sessions/trigger', { target: { checkId: check.id } });
      for (const run of await agent.claim(all)) {
        const detail = findCheckType(run.check.checkType)?.detail;
        const text = textsThatFit(0, 4_000);
        const fields: Partial<ResultReport> = {
          detail: detail ? wholeOf(detail, (maxLength) => textsThatFit(0, maxLength)) : null,
          errorMessages: [text],
          failure: isFailed ? failure('ASSERTION_FAILED', text) : null,
          artifacts: payloads.slice(0, 60).map((payload) => ({
            name: payload.replaceAll(/\p{C}/gu, ''),
            contentType: payload.slice(0, 200),
            sizeBytes: null,
            sha256: null,
            state: 'refused',
            reason: payload,
          })),
        };
        expect(await agent.report([reportOf(run, fields)]), run.check.checkType).toEqual(['accepted']);
        runs.push(`/checks/${run.check.id}/runs/${run.resultId}`);
        written.set(`result of ${type.name}`, countTexts(fields));
      }
    }
  }
}

it('hostile texts went through every field of the schemas', () => {
  expect(payloads.length).toBeGreaterThanOrEqual(60);
  const texts = [...written.values()].reduce((sum, one) => sum + one, 0);
  expect(written.size).toBeGreaterThan(40);
  expect(texts).toBeGreaterThan(300);
});

it('no page runs any of them, and each shows its content', { timeout: 900_000 }, async () => {
  await using window = await stage.visit();
  const { page } = window;
  /** Elements that were created by a text, or attributes that run or load something. */
  const look = async (address: string): Promise<void> => {
    const found = await page.evaluate<string[]>(`[...document.querySelectorAll('*')].flatMap((element) => {
      const wrong = element.getAttributeNames().filter((name) => /^on|^hx-on|^style$|^srcdoc$/.test(name));
      const isOurs = element.closest('head') !== null;
      const isPreview = element.matches('iframe[name="preview"][sandbox="allow-same-origin"]:not([src])');
      const isElement = !isOurs && !isPreview && /^(script|iframe|object|embed|base|meta|link|style|marquee|math|image|template)$/i.test(element.tagName);
      const isAddress = /^\\s*(javascript|data|vbscript):/i.test(element.getAttribute('href') ?? '') ||
        !/^\\/[^\\/]/.test(element.getAttribute('formaction') ?? '/ours');
      const isImage = element.tagName === 'IMG' && !element.src.startsWith(location.origin);
      return wrong.length > 0 || isElement || isAddress || isImage ? [element.outerHTML.slice(0, 200)] : [];
    })`);
    expect(found, address).toEqual([]);
    expect(await page.locator('main, body').count(), address).toBeGreaterThan(0);
    expect(window.complaints, address).toEqual([]);
  };
  // Lists begin with the newest entries, such as missed pings, which cannot be run again.
  const { found } = await everyPage(window, 4, look, runs.slice(0, 1));
  for (const pattern of [
    '/',
    '/checks/:checkId',
    '/checks/:checkId/runs/:resultId',
    '/checks/:checkId/file',
  ]) {
    expect(found.map((one) => one.pattern)).toContain(pattern);
  }
  const { body: statusPages } = await stage.harness.call('GET', '/v1/status-pages?limit=100');
  const { body: dashboards } = await stage.harness.call('GET', '/v1/dashboards?limit=100');
  const list = (body: unknown): Record<string, string>[] =>
    Array.isArray(body) ? body : (body as { entries: Record<string, string>[] }).entries;
  const addresses = [
    ...list(statusPages)
      .slice(0, 5)
      .map((one) => `/status/${one['url']}`),
    ...list(dashboards)
      .slice(0, 5)
      .map((one) => `/dashboards/${one['customUrl']}`),
  ];
  expect(addresses.length).toBeGreaterThan(1);
  expect(runs.length).toBeGreaterThan(10);
  addresses.push(...runs, ...runs.map((run) => `${run}/compare`));
  for (const address of addresses) {
    await window.go(address);
    await look(address);
  }
});

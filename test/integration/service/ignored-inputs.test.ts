import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(async () => {
  await harness.close();
});

const uuid = '00000000-0000-4000-8000-000000000000';
/** A path with some value for each of its parameters. */
function pathOf(route: Route): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = [uuid, '1'].find((one) => route.params?.shape[name]?.safeParse(one).success);
    return value ?? 'x';
  });
}
const nameOf = ({ method, path }: Route) => `${method} ${path}`;
const ofAccounts = allRoutes.filter(({ credential }) => credential === 'account');

describe('ineffective input is refused', () => {
  it('a parameter of other operations, by every operation that does not have it', async () => {
    const all = [...new Set(allRoutes.flatMap(({ query }) => Object.keys(query?.shape ?? {})))];
    expect(all.length).toBeGreaterThan(60);
    for (const route of ofAccounts) {
      const foreign = all.filter((name) => !Object.hasOwn(route.query?.shape ?? {}, name));
      const query = foreign.map((name) => `${name}=1`).join('&');
      const { status, body } = await harness.call(route.method, `${pathOf(route)}?${query}`);
      expect([nameOf(route), status, body.validation?.source]).toEqual([nameOf(route), 400, 'query']);
      expect([nameOf(route), ...body.validation.keys].sort()).toEqual([nameOf(route), ...foreign].sort());
    }
  });

  it('a body, even one with fields of the response, by every operation that accepts none', async () => {
    const bodyless = ofAccounts.filter(
      (route) =>
        route.method !== 'GET' && !route.body && !route.isBodyRaw && route.keptBodyBytes === undefined,
    );
    expect(bodyless.length).toBeGreaterThan(40);
    const headers = { 'content-type': 'application/json' };
    for (const route of bodyless) {
      const send = (content: unknown) => harness.call(route.method, pathOf(route), content, { headers });
      const shown = route.response instanceof z.ZodObject ? Object.keys(route.response.shape) : [];
      for (const name of [...shown.slice(0, 3), 'id']) {
        const { status, body } = await send({ [name]: 1 });
        expect([nameOf(route), status, body.validation?.keys]).toEqual([nameOf(route), 400, [name]]);
      }
      for (const text of ['[{"id":1}]', '[]', '"text"', '7', 'true']) {
        const { status, body } = await send(text);
        const said = expect.stringContaining('has no body');
        expect([nameOf(route), status, body.message]).toEqual([nameOf(route), 400, said]);
      }
      // Clients that always send a body send these.
      for (const content of [{}, 'null', undefined]) {
        expect((await send(content)).body?.validation?.source).not.toBe('payload');
      }
    }
  });

  it('an encoding of an upload, whose bytes are kept unchanged', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/octet-stream' };
    for (const route of ofAccounts.filter(({ isBodyRaw }) => isBodyRaw)) {
      const { status, body } = await harness.call(route.method, pathOf(route), 'bytes', { headers });
      expect([status, body.message]).toEqual([415, expect.stringContaining('without "Content-Encoding"')]);
    }
  });

  it('an unknown field within a resource of a deployment', async () => {
    const payloads = { check: { checkType: 'URL', request: { url: 'http://a.test/' } }, 'check-group': {} };
    for (const [type, payload] of Object.entries(payloads)) {
      const resources = [{ type, logicalId: 'one', payload: { name: 'x', ...payload, qqxxyyzz: 1 } }];
      const project = { logicalId: 'shop', name: 'Shop' };
      const { status, body } = await harness.call('POST', '/v1/projects/deploy?dryRun=true', {
        project,
        resources,
      });
      expect([status, body.message]).toEqual([400, expect.stringContaining('qqxxyyzz')]);
    }
  });
});

describe('a field that a contract requires to be accepted', () => {
  it('is named in a warning if checks of the type never use it', async () => {
    const script = { localSetupScript: 'x', setupScriptPath: 'a.js', runtimeId: '2026.04' };
    const url = await createCheck(harness, { ...script, activated: false });
    expect(url.warnings).toEqual([
      {
        code: 'NO_EFFECT',
        message: expect.stringMatching(
          /"localSetupScript", "setupScriptPath" and "runtimeId" have no effect.*URL/,
        ),
      },
    ]);
    const request = { method: 'GET', url: 'http://a.test/' };
    const { body: api } = await harness.call('POST', '/v1/checks/api', {
      ...{ name: 'x', request, activated: false },
      ...script,
    });
    expect(api.warnings).toEqual([]);
    const { body: browser } = await harness.call('POST', '/v1/checks/browser', {
      ...{ name: 'x', script: '// x', activated: false },
      ...{ runtimeId: '2026.04', localTearDownScript: 'x' },
    });
    expect(browser.warnings.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringContaining('"localTearDownScript" has no effect'),
    ]);
    const { body: plain } = await harness.call('PUT', `/v1/checks/${url.id}`, {
      ...{ localSetupScript: '', setupScriptPath: null, runtimeId: null },
    });
    expect(plain.warnings).toEqual([]);
  });
});

describe('a field that another one outweighs', () => {
  const monday = { weekdays: ['MON'], from: '08:00', to: '18:00' };
  const daily = { cron: '0 3 * * *', timeZone: 'UTC' };
  const inHours = { windows: [monday], timeZone: 'UTC' };
  const warned = ({ warnings }: { warnings: { code: string; field?: string; message: string }[] }) =>
    warnings.flatMap(({ code, field, message }) =>
      ['NO_EFFECT', 'NEVER_DUE'].includes(code) ? [[code, field, message]] : [],
    );
  const change = async (id: string, fields: object) =>
    (await harness.call('PUT', `/v1/checks/${id}`, fields)).body;
  const outweighed = (field: string, why: string) => ['NO_EFFECT', field, expect.stringContaining(why)];

  it('is named in a warning while that is so: the frequency of a check with a schedule', async () => {
    const check = await createCheck(harness, { frequency: 5, schedule: daily, activated: false });
    expect(warned(check)).toEqual([outweighed('frequency', 'at the times of "schedule"')]);
    expect(warned(await change(check.id, { frequency: 10 }))).toEqual([]);
    expect(warned(await change(check.id, { frequencyOffset: 1 }))).toEqual([
      outweighed('frequencyOffset', 'at the times of "schedule"'),
    ]);
    // The slots of a failing check are placed by the offset.
    expect(warned(await change(check.id, { frequencyWhileFailing: 1 }))).toEqual([]);
    expect(warned(await change(check.id, { schedule: null, frequency: 5 }))).toEqual([]);
  });

  it('is named in a warning: hours in a group with hours, and the mode of hours without windows', async () => {
    const [own, ofGroup] = [
      { ...inHours, mode: 'PAUSE' },
      { holidays: ['2099-12-25'], mode: 'PAUSE' },
    ];
    const { body: group } = await harness.call('POST', '/v1/check-groups', {
      name: 'the "shop"',
      activeHours: ofGroup,
    });
    expect(warned(group)).toEqual([outweighed('activeHours.mode', 'without windows')]);
    const check = await createCheck(harness, { activeHours: own, groupId: group.id, activated: false });
    expect(warned(check)).toEqual([
      outweighed('activeHours', 'the hours of its group "the \\"shop\\"" apply'),
    ]);
    const listed = await harness.call('GET', '/v1/checks?limit=100');
    expect(warned(listed.body.find(({ id }: { id: string }) => id === check.id))).toHaveLength(1);
    // A list of the group shows the settings in effect.
    const inEffect = await harness.call('GET', `/v1/check-groups/${group.id}/checks`);
    expect(inEffect.body.map(warned)).toEqual([[]]);
    await harness.call('PUT', `/v1/check-groups/${group.id}`, { activeHours: null });
    expect(warned(await change(check.id, {}))).toEqual([]);
    expect(warned(await change(check.id, { activeHours: ofGroup }))).toEqual([
      outweighed('activeHours.mode', 'without windows'),
    ]);
  });

  it('is named in a warning: when and where agents run a check that waits for pings', async () => {
    const heartbeat = { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' };
    const { body } = await harness.call('POST', '/v1/checks/heartbeat', {
      ...{ name: 'backup', heartbeat, frequency: 5, locations: ['eu-west-1'], runParallel: true },
    });
    expect(warned(body)).toEqual([
      [
        'NO_EFFECT',
        undefined,
        expect.stringContaining('"frequency", "locations" and "runParallel" have no effect'),
      ],
    ]);
  });

  it('makes a warning of the check and of its status if it leaves the check no time', async () => {
    const { body: group } = await harness.call('POST', '/v1/check-groups', {
      ...{ name: 'g', activeHours: inHours },
    });
    const check = await createCheck(harness, { schedule: daily, frequency: 10, groupId: group.id });
    const never = [['NEVER_DUE', 'schedule', expect.stringContaining('within "activeHours"')]];
    expect([warned(check), check.nextRunAt]).toEqual([[], null]);
    await createLocation(harness, 'lab');
    expect(warned(await change(check.id, { privateLocations: ['lab'] }))).toEqual(never);
    const { body: status } = await harness.call('GET', `/v1/check-statuses/${check.id}`);
    expect(warned(status)).toEqual(never);
    expect(warned(await change(check.id, { schedule: { cron: '0 9 * * *' } }))).toEqual([]);
  });
});

/** Fields that clients of comparable systems send and that this service cannot apply; their descriptions say so. */
const documented = ['browserCheckDefaults', 'refreshCache', 'shouldRecord', 'jsonrpc'];

it('reads every documented field and parameter', () => {
  const read = new Set<string>();
  const root = join(import.meta.dirname, '../../..');
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    if (/^src\/(protocol|cli)\/|spec\.ts$|\.test\.ts$|checks\/contract\/common-f/.test(file)) continue;
    for (const [word] of readFileSync(join(root, file), 'utf8').matchAll(/\w+/g)) read.add(word);
  }
  const unread = new Set<string>();
  for (const { credential, body, documentedBody, query } of allRoutes) {
    if (credential === 'location') continue;
    const written = documentedBody ?? body;
    const names = written ? namesIn(z.toJSONSchema(written, { io: 'input', unrepresentable: 'any' })) : [];
    for (const name of [...names, ...Object.keys(query?.shape ?? {})]) if (!read.has(name)) unread.add(name);
  }
  expect([...unread].sort()).toEqual(documented.filter((name) => !read.has(name)).sort());
});

function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, inner]) => [
    ...(key === 'properties' ? Object.keys(inner as object) : []),
    ...namesIn(inner),
  ]);
}

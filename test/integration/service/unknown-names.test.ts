import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTypes } from '../../../src/checks/index.ts';
import { alertChannelRoutes } from '../../../src/protocol/alerts/alert-channel.ts';
import { checkRoutes, typedCheckRoutes } from '../../../src/protocol/checks/check.ts';
import type { Route } from '../../../src/protocol/http/route.ts';
import { allRoutes } from '../../../src/server/features.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
} from '../../helpers/service/service.ts';
import type { Samples } from '../conformance/samples/samples.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
  await createLocation(harness, 'lab');
});
afterAll(async () => {
  await harness.close();
});

const uuid = '00000000-0000-4000-8000-000000000000';
/** A path with some value for each of its parameters. */
function pathOf(route: Route): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    for (const value of [uuid, '1', 'x']) {
      if (route.params?.shape[name]?.safeParse(value).success) return value;
    }
    return 'x';
  });
}

/** If the fields of a change depend on the existing object, one is created. */
async function presentPathOf(route: Route): Promise<string> {
  switch (route.operationId) {
    case checkRoutes.updateCheck.operationId:
      return `/v1/checks/${(await createCheck(harness)).id}`;
    case alertChannelRoutes.updateAlertChannel.operationId: {
      const channel = { type: 'EMAIL', config: { address: 'a@b.test' } };
      const { body } = await harness.call('POST', '/v1/alert-channels', channel);
      return `/v1/alert-channels/${body.id}`;
    }
    default:
      return pathOf(route);
  }
}

const writes = allRoutes.filter(
  (route) =>
    route.credential === 'account' && ['POST', 'PUT', 'PATCH'].includes(route.method) && !route.isBodyRaw,
);

describe('an unknown field', () => {
  it.each(writes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'is refused by %s',
    async (_name, route) => {
      const { status, body } = await harness.call(route.method, await presentPathOf(route), { qqxxyyzz: 1 });
      expect(status).toBe(400);
      expect(body.validation.keys).toContain('qqxxyyzz');
      expect(body.message).toContain('"qqxxyyzz" is not a field of this operation');
    },
  );

  it('is refused with the intended name, at any depth, and all other errors', async () => {
    const { status, body } = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      frequncy: 5,
      description: 7,
      request: { url: 'http://a.test/', asertions: [], assertions: [{ sorce: 'STATUS_CODE' }] },
    });
    expect(status).toBe(400);
    expect(body.message).toContain('"frequncy" is not a field of this operation: did you mean "frequency"?');
    expect(body.message).toContain('did you mean "assertions"?');
    expect(body.message).toContain('did you mean "source"?');
    expect(body.validation.keys).toEqual(
      expect.arrayContaining([
        'frequncy',
        'request.asertions',
        'request.assertions.0.sorce',
        'description',
        'request.assertions.0.source',
      ]),
    );
  });

  it('is refused in a change that is validated against the type of the check', async () => {
    const { id } = await createCheck(harness);
    const { status, body } = await harness.call('PUT', `/v1/checks/${id}`, { frequncy: 5 });
    expect(status).toBe(400);
    expect(body.message).toContain('did you mean "frequency"?');
  });

  it('is accepted if clients of comparable systems send it', async () => {
    const { status, body } = await harness.call('POST', '/v1/checks/url', {
      name: 'x',
      createdAt: '0001-01-01T00:00:00Z',
      updatedAt: '0001-01-01T00:00:00Z',
      script: '',
      heartbeat: {},
      alertSettings: { sslCertificates: { enabled: true, alertThreshold: 3 } },
      request: {
        url: 'http://a.test/',
        assertions: [
          {
            source: 'STATUS_CODE',
            comparison: 'EQUALS',
            target: '200',
            order: 1,
            edit: false,
            arrayIndex: 0,
          },
        ],
      },
    });
    expect([status, body.message]).toEqual([201, undefined]);
    expect(body.request.assertions[0]).not.toHaveProperty('order');
  });
});

describe('what was read', () => {
  it.each(checkTypes.map((type) => [type.name, type] as const))(
    'of a %s can be sent back as a whole, and again as a new one',
    async (_name, type) => {
      const { samples } = await import(`../conformance/samples/${type.route}.ts`);
      const { status, body } = await harness.call('POST', `/v1/checks/${type.route}`, {
        name: type.name,
        ...(samples as Samples).minimal,
      });
      expect([status, body.message]).toEqual([201, undefined]);
      const route = typedCheckRoutes.get(type.name);
      expect(route).toBeDefined();
      const extra = type.requiredOnUpdate ? { heartbeat: {}, script: '' } : {};
      for (const path of [`/v1/checks/${type.route}/${body.id}`, `/v1/checks/${body.id}`]) {
        const changed = await harness.call('PUT', path, { ...body, ...extra, name: 'changed' });
        expect([changed.status, changed.body.message]).toEqual([200, undefined]);
      }
      if (type.pings) return; // Its ping token is taken.
      const copied = await harness.call('POST', '/v1/checks', body);
      expect([copied.status, copied.body.message]).toEqual([201, undefined]);
    },
  );
});

describe('an unknown parameter', () => {
  const account = allRoutes.filter(({ credential }) => credential === 'account');
  it.each(account.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'is refused by %s',
    async (_name, route) => {
      const { status, body } = await harness.call(route.method, `${pathOf(route)}?qqxxyyzz=1`);
      expect(status).toBe(400);
      expect(body.validation).toEqual({ source: 'query', keys: expect.arrayContaining(['qqxxyyzz']) });
    },
  );

  it('is refused with the name that was meant', async () => {
    const { body } = await harness.call('GET', '/v1/checks?limt=1');
    expect(body.message).toBe('"limt" is not a parameter of this operation: did you mean "limit"?');
  });

  it('is ignored on pages and pings, whose links anyone may decorate', async () => {
    expect((await harness.call('GET', `/v1/ping/${uuid}?utm_source=x`)).status).toBe(404);
  });
});

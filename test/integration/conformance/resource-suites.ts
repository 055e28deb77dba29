import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResourceApi } from '../../../src/protocol/http/resource.ts';
import { addKey } from '../../../src/service/accounts/accounts.ts';
import { resources } from '../../../src/service/resources/index.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';
import { namesPath, withValue, wrongValuesFor } from '../../helpers/service/wrong-values.ts';
import { type ResourceBody, type ResourceSample, sampleOf } from './resource-samples/resource-sample.ts';

const all = Object.entries(resources).map(
  ([name, { api }]) => [api.plural, name, api as ResourceApi] as const,
);

/** Behaviour of every plain resource of the registry, on a given database. */
export function resourceSuites(place: () => Promise<{ databaseUrl?: string }>): void {
  let harness: ServiceHarness;
  beforeAll(async () => {
    harness = await openHarness(await place());
  });
  afterAll(async () => {
    await harness?.close();
  });

  describe.each(all)('the resource %s', (_plural, name, api) => {
    const path = api.routes.list.path;
    let sample: ResourceSample;
    let account: { accountId: string; key: string };
    /** The objects created from the two bodies of the sample. */
    let made: ResourceBody[];

    const call = (method: string, to: string, body?: unknown, key = account.key) =>
      harness.call(method, to, body, { key });
    const pathOf = (one: ResourceBody | undefined) => `${path}/${one?.[api.keyName]}`;

    beforeAll(async () => {
      sample = await sampleOf(name, api);
      account = await harness.addAccount();
      made = [];
      for (const body of sample.bodies) {
        const answer = await call('POST', path, body);
        expect([answer.status, answer.body]).toEqual([201, answer.body]);
        made.push(answer.body);
      }
    });

    it('shows what was written, except hidden fields', async () => {
      for (const [index, body] of sample.bodies.entries()) {
        const one = made[index];
        expect(api.shown.parse(one)).toEqual(one);
        const shown = Object.entries(body).filter(([field]) => !sample.hidden?.includes(field));
        expect(one).toMatchObject(Object.fromEntries(shown));
        for (const field of sample.hidden ?? []) expect(one).not.toHaveProperty(field);
        expect((await call('GET', pathOf(one))).body).toEqual(one);
      }
    });

    it('lists them in pages', async () => {
      const whole = await call('GET', path);
      expect(whole.headers['content-range']).toBe('0-1/2');
      expect(whole.body).toHaveLength(2);
      expect(whole.body).toEqual(expect.arrayContaining(made));
      const first = await call('GET', `${path}?limit=1`);
      const second = await call('GET', `${path}?limit=1&page=2`);
      expect([...first.body, ...second.body]).toEqual(whole.body);
      expect(first.headers['content-range']).toBe('0-0/2');
      expect(first.headers.link).toBe(
        `<${path}?limit=1&page=2>; rel="next", <${path}?limit=1&page=2>; rel="last"`,
      );
      expect(second.headers.link).toBe(`<${path}?limit=1&page=2>; rel="last"`);
    });

    it('changes the given fields, and keeps the rest', async () => {
      const [one] = made;
      if (!sample.change) {
        expect((await call('PUT', pathOf(one), {})).status).toBe(405);
        return;
      }
      const changed = await call('PUT', pathOf(one), sample.change);
      expect([changed.status, changed.body]).toEqual([200, changed.body]);
      expect(changed.body.updated_at).not.toBeNull();
      const { updated_at } = changed.body;
      expect(changed.body).toEqual({ ...one, ...sample.change, updated_at });
      expect((await call('GET', pathOf(one))).body).toEqual(changed.body);
      const same = await call('PUT', pathOf(one), {});
      expect({ ...same.body, updated_at }).toEqual(changed.body);
    });

    it('refuses errors, and names the field', async () => {
      for (const [field, body] of Object.entries(sample.refused ?? {})) {
        const answer = await call('POST', path, body);
        expect([answer.status, answer.body.validation?.keys]).toEqual([400, [field]]);
      }
      const unrefused: string[] = [];
      const refuse = async (method: string, to: string, schema: ResourceApi['input'], base: ResourceBody) => {
        for (const wrong of wrongValuesFor(schema)) {
          const { status, body } = await call(method, to, withValue(base, wrong.path, wrong.value));
          const isNamed = status === 400 && namesPath(body.validation?.keys ?? [], wrong.path);
          if (!isNamed) unrefused.push(`${method} ${wrong.path.join('.')}: ${wrong.why} -> ${status}`);
        }
      };
      await refuse('POST', path, api.input, sample.bodies[0]);
      if (api.patch) await refuse('PUT', pathOf(made[0]), api.documentedPatch ?? api.patch, {});
      expect(unrefused).toEqual([]);
    });

    it('refuses a key that is taken, if the account chooses it', async () => {
      const again = await call('POST', path, sample.bodies[0]);
      expect(again.status).toBe(api.isKeyChosen ? 409 : 201);
      if (again.status === 201) await call('DELETE', pathOf(again.body));
    });

    it('is changed by keys that may write, and read by all', async () => {
      const { accountId } = account;
      const { rawKey } = await addKey(harness.store, harness.clock, {
        accountId,
        name: 'r',
        role: 'READ_ONLY',
      });
      expect((await call('GET', pathOf(made[0]), undefined, rawKey)).status).toBe(200);
      expect((await call('POST', path, sample.bodies[0], rawKey)).status).toBe(403);
      expect((await call('DELETE', pathOf(made[0]), undefined, rawKey)).status).toBe(403);
    });

    it('belongs to its account only', async () => {
      const stranger = await harness.addAccount();
      expect((await call('GET', path, undefined, stranger.key)).body).toEqual([]);
      expect(await harness.store[name as keyof typeof resources].ofAccounts([stranger.accountId])).toEqual(
        [],
      );
      expect(
        await harness.store[name as keyof typeof resources].ofAccounts([account.accountId]),
      ).toHaveLength(2);
      for (const method of ['GET', 'PUT', 'DELETE']) {
        if (method === 'PUT' && !api.patch) continue;
        const body = method === 'PUT' ? {} : undefined;
        const answer = await call(method, pathOf(made[0]), body, stranger.key);
        expect([method, answer.status]).toEqual([method, 404]);
      }
      // The same keys are free in another account.
      const own = await call('POST', path, sample.bodies[0], stranger.key);
      expect(own.status).toBe(201);
      expect((await call('DELETE', pathOf(own.body), undefined, stranger.key)).status).toBe(204);
      expect((await call('GET', pathOf(made[0]))).status).toBe(200);
    });

    it('is deleted once', async () => {
      const [, other] = made;
      const key = String(other?.[api.keyName]);
      const sentence = `There is no ${api.noun} ${api.keyName === 'id' ? key : `"${key}"`}.`;
      expect((await call('DELETE', pathOf(other))).status).toBe(204);
      for (const method of ['DELETE', 'GET']) {
        const answer = await call(method, pathOf(other));
        expect([answer.status, answer.body.message]).toEqual([404, sentence]);
      }
      expect((await call('GET', path)).body).toHaveLength(1);
    });
  });
}

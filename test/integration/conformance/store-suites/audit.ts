import { expect, it } from 'vitest';
import { createCheck } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

const dayMs = 86_400_000;

/** Audit log entries of changes, and the listing of keys. */
export function auditSuite(stage: StoreStage): void {
  const entries = async (query = '', key?: string) => {
    const options = key === undefined ? {} : { key };
    const answer = await stage.harness.call('GET', `/v1/audit-log?limit=100${query}`, undefined, options);
    expect([query, answer.status]).toEqual([query, 200]);
    return answer.body.entries;
  };

  it('keeps who changed what, from where, before and after, but no secret', async () => {
    await stage.start();
    const { harness } = stage;
    const writer = await harness.addKey('READ_WRITE');
    const request = { url: 'http://target.test/', basicAuth: { username: 'u', password: 'pass-1' } };
    const made = await harness.call('POST', '/v1/checks/api', { name: 'shop', frequency: 1, request });
    const check = made.body;
    expect(made.status).toBe(201);
    const asWriter = { key: writer };
    stage.clock.advance(1_000);
    await harness.call('PUT', `/v1/checks/${check.id}`, { name: 'store', frequency: 5 }, asWriter);
    stage.clock.advance(1_000);
    await harness.call('POST', '/v1/variables', { key: 'TOKEN', value: 'value-1', secret: true }, asWriter);
    stage.clock.advance(1_000);
    await harness.call('DELETE', `/v1/checks/${check.id}`);
    // Refused requests and reads are not writes.
    await harness.call('PUT', `/v1/checks/${check.id}`, { name: 'x' });
    await harness.call('PUT', '/v1/variables/NONE', { value: 'x' });
    await harness.call('GET', '/v1/checks');

    const all = await entries();
    const known = all.filter(({ operation }: { operation: string }) => !/Location/.test(operation));
    expect(known.map((one: { operation: string; outcome: string }) => [one.operation, one.outcome])).toEqual([
      ['deleteCheck', 'DONE'],
      ['createVariable', 'DONE'],
      ['updateCheck', 'DONE'],
      ['createApiCheck', 'DONE'],
    ]);
    const [deleted, variable, updated, created] = known;
    expect(updated).toMatchObject({
      actor: { kind: 'API_KEY', name: 'test' },
      address: '127.0.0.1',
      resource: `checks/${check.id}`,
      resourceName: 'store',
      before: { name: 'shop', frequency: 1 },
      after: { name: 'store', frequency: 5 },
    });
    expect(created).toMatchObject({ before: null, after: { name: 'shop' }, resource: `checks/${check.id}` });
    expect(deleted).toMatchObject({ before: { name: 'store' }, after: null, resourceName: 'store' });
    expect(variable).toMatchObject({ resource: 'variables/TOKEN', secrets: ['value'] });
    expect(JSON.stringify(all)).not.toMatch(/pass-1|value-1/);
    const rows = await harness.store.audit.list({ accountId: null }, 100);
    expect(JSON.stringify(rows)).not.toMatch(/pass-1|value-1|pl_[0-9a-f]{32}|ak_[0-9a-f]{32}/);

    const ofCheck = await entries(`&resource=checks/${check.id}`);
    expect(ofCheck.map(({ operation }: { operation: string }) => operation)).toEqual([
      'deleteCheck',
      'updateCheck',
      'createApiCheck',
    ]);
    const byWriter = await entries(`&actorId=${updated.actor.id}&operation=updateCheck&outcome=DONE`);
    expect(byWriter).toEqual([updated]);
    expect(await entries(`&from=${updated.created_at}&to=${variable.created_at}`)).toEqual([updated]);
    const first = await harness.call('GET', '/v1/audit-log?limit=1');
    const second = await harness.call('GET', `/v1/audit-log?limit=1&nextId=${first.body.nextId}`);
    expect([...first.body.entries, ...second.body.entries]).toEqual(all.slice(0, 2));
  });

  it('names each act by which a writer can gain access to hidden values', async () => {
    await stage.start();
    const { harness } = stage;
    const as = { key: await harness.addKey('READ_WRITE') };
    const request = { url: 'http://target.test/' };
    const { body: check } = await harness.call('POST', '/v1/checks/api', {
      name: 'shop',
      frequency: 5,
      request,
    });
    const { body: locations } = await harness.call('GET', '/v1/private-locations');
    const place = `private-locations/${locations[0].id}`;
    const acts: readonly (readonly ['POST' | 'PUT', string, object])[] = [
      ['POST', `${place}/keys`, {}],
      ['PUT', place, { proxyUrl: 'http://me:pass-1@proxy.test:3128' }],
      ['PUT', `checks/api/${check.id}`, { ...check, request: { ...check.request, skipSSL: true } }],
      ['PUT', `checks/api/${check.id}`, { ...check, localSetupScript: 'fetch("https://elsewhere.test")' }],
    ];
    for (const [method, path, body] of acts) {
      const { status } = await harness.call(method, `/v1/${path}`, body, as);
      expect([path, status]).toEqual([path, expect.toBeOneOf([200, 201])]);
    }
    const told = [
      ...(await entries(`&resource=checks/${check.id}`)),
      ...(await entries(`&resource=${place}`)),
    ];
    const text = (part: object) =>
      told.find((one) => JSON.stringify(one.after)?.includes(JSON.stringify(part).slice(1, -1)));
    for (const part of [{ skipSSL: true }, { localSetupScript: 'fetch("https://elsewhere.test")' }]) {
      expect(text(part), JSON.stringify(part)).toMatchObject({ actor: { name: 'test' }, outcome: 'DONE' });
    }
    const proxy = told.find((one) => one.after?.proxyUrl);
    expect(proxy.after.proxyUrl).toMatch(/^http:\/\/me:.*@proxy\.test:3128/);
    expect(told.filter(({ operation }: { operation: string }) => /Key/.test(operation))).toHaveLength(1);
    expect(JSON.stringify(told)).not.toMatch(/pass-1|pl_[0-9a-f]{32}/);
  });

  it('shows non-admins the history of a resource, without addresses, people and keys', async () => {
    await stage.start();
    const { harness } = stage;
    const reader = await harness.addKey('READ_ONLY');
    stage.clock.advance(1_000);
    const check = await createCheck(harness);
    const { body: made } = await harness.call('POST', '/v1/api-keys', { name: 'ci', role: 'READ_RUN' });
    expect(await entries(`&resource=checks/${check.id}`, reader)).toMatchObject([
      { operation: 'createUrlMonitor', address: null, actor: { name: 'test' } },
    ]);
    expect(await entries(`&resource=api-keys/${made.id}`, reader)).toEqual([]);
    expect((await entries('', reader)).map((one: { operation: string }) => one.operation)).toEqual([
      'createUrlMonitor',
      'createPrivateLocation',
    ]);
    expect(await entries(`&resource=api-keys/${made.id}`)).toHaveLength(1);
    const stranger = await harness.addAccount();
    expect(await entries(`&resource=checks/${check.id}`, stranger.key)).toEqual([]);
    expect(await entries('', stranger.key)).toEqual([]);
  });

  it('creates, lists and revokes API keys, and records their last use', async () => {
    await stage.start();
    const { harness, clock } = stage;
    clock.advance(1_000);
    const { status, body: made } = await harness.call('POST', '/v1/api-keys', {
      name: 'ci',
      role: 'READ_RUN',
    });
    expect([status, made.rawKey, made.lastUsedAt]).toEqual([201, expect.stringMatching(/^ak_/), null]);
    const asMade = { key: made.rawKey };
    clock.advance(60_000);
    expect((await harness.call('GET', '/v1/checks', undefined, asMade)).status).toBe(200);
    const usedAt = new Date(clock.wallMs()).toISOString();
    clock.advance(59_999);
    await harness.call('GET', '/v1/checks', undefined, asMade);
    const shown = await harness.call('GET', `/v1/api-keys/${made.id}`);
    expect(shown.body).toEqual({ ...made, rawKey: undefined, lastUsedAt: usedAt });
    const listed = await harness.call('GET', '/v1/api-keys?limit=1&page=2');
    expect([listed.body, listed.headers['content-range']]).toEqual([[shown.body], '1-1/2']);
    expect((await harness.call('GET', '/v1/api-keys', undefined, asMade)).status).toBe(403);

    const [{ id: ownId }] = (await harness.call('GET', '/v1/api-keys')).body;
    const last = await harness.call('DELETE', `/v1/api-keys/${ownId}`);
    expect([last.status, last.body.message]).toEqual([409, expect.stringContaining('last')]);
    const stranger = await harness.addAccount();
    expect((await harness.call('DELETE', `/v1/api-keys/${made.id}`, undefined, stranger)).status).toBe(404);
    expect((await harness.call('DELETE', `/v1/api-keys/${made.id}`)).status).toBe(204);
    expect((await harness.call('GET', '/v1/checks', undefined, asMade)).status).toBe(401);
  });

  it('reports a write without a recorded end, and forgets entries beyond their retention', async () => {
    await stage.start();
    const { harness, clock } = stage;
    const check = await createCheck(harness);
    const { complete } = harness.store.audit;
    harness.store.audit.complete = async () => {
      throw new Error('killed');
    };
    expect((await harness.call('PUT', `/v1/checks/${check.id}`, { frequency: 5 })).status).toBe(200);
    harness.store.audit.complete = complete;
    expect(await entries('&operation=updateCheck')).toMatchObject([
      { outcome: 'UNKNOWN', resource: `checks/${check.id}`, before: null, after: null },
    ]);
    const isMore = await harness.store.audit.prune(clock.wallMs(), 1_000);
    expect([isMore, (await entries()).length]).toEqual([false, 3]);
    clock.advance(dayMs);
    await harness.store.audit.prune(clock.wallMs(), 1_000);
    expect(await entries()).toEqual([]);
  });
}

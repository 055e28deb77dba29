import { expect, it } from 'vitest';
import { createCheck, createLocation } from '../../../helpers/service/service.ts';
import type { StoreStage } from './stage.ts';

/** Groups of checks: their settings apply to their checks in responses, scheduling and leases. */
export function groupSuite(stage: StoreStage): void {
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const post = async (fields: object = {}) => {
    const answer = await call('POST', '/v1/check-groups', { name: 'a group', ...fields });
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  };
  const put = async (id: number, fields: object) => {
    const answer = await call('PUT', `/v1/check-groups/${id}`, fields);
    expect([answer.status, answer.body]).toEqual([200, answer.body]);
    return answer.body;
  };
  const nextSlotOf = async (id: string) =>
    (await stage.harness.store.checks.find(stage.harness.accountId, id))?.slots.nextSlotAt;
  const statesOf = async (id: string) => (await stage.runsOf(id)).map(({ state }) => state);

  it('keeps groups, merges changes and hides hidden values', async () => {
    await stage.start();
    const made = await post({
      tags: ['prod'],
      environmentVariables: [{ key: 'TOKEN', value: 'group-secret', secret: true }],
      apiCheckDefaults: { url: 'http://a.test', basicAuth: { username: 'u', password: 'group-secret' } },
    });
    expect(made).toMatchObject({
      activated: true,
      concurrency: 3,
      retryStrategy: 'FALLBACK',
      updated_at: null,
    });
    expect(JSON.stringify(made)).not.toContain('group-secret');
    const back = await put(made.id, { ...made, name: 'Another' });
    expect(JSON.stringify(back)).not.toContain('group-secret');
    const merged = await put(made.id, { apiCheckDefaults: { url: 'http://a.test/b' } });
    expect(merged.apiCheckDefaults).toMatchObject({ url: 'http://a.test/b', basicAuth: { username: 'u' } });
    const stored = await stage.harness.store.groups.find(stage.harness.accountId, made.id);
    expect(stored?.definition).toMatchObject({
      environmentVariables: [{ value: 'group-secret' }],
      apiCheckDefaults: { basicAuth: { password: 'group-secret' } },
    });
    stage.clock.advance(1);
    const other = await post({ name: 'other' });
    const idsOf = async (query: string) =>
      (await call('GET', `/v1/check-groups?${query}`)).body.map(({ id }: { id: number }) => id);
    expect(await idsOf('')).toEqual([other.id, made.id]);
    expect(await idsOf('tag=prod&tag=none')).toEqual([made.id]);
    expect(await idsOf('name=OTHER&limit=1')).toEqual([other.id]);
    expect(await idsOf('limit=1&page=2')).toEqual([made.id]);
    const wrong = await call('PUT', `/v1/check-groups/${made.id}`, {
      privateLocations: ['lab', 'no'],
      tags: [''],
    });
    expect([wrong.status, wrong.body.validation.keys]).toEqual([400, ['tags.0']]);
    const nowhere = await call('PUT', `/v1/check-groups/${made.id}`, { privateLocations: ['lab', 'no'] });
    expect([nowhere.status, nowhere.body.validation.keys]).toEqual([400, ['privateLocations.1']]);
  });

  it('is deleted only if it is empty, and joined only if it exists', async () => {
    await stage.start();
    const group = await post();
    const check = await createCheck(stage.harness, { groupId: group.id });
    const refused = await call('DELETE', `/v1/check-groups/${group.id}`);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      `The group ${group.id} has checks: "a monitor". Remove them from the group or delete them first.`,
    ]);
    expect((await call('PUT', `/v1/checks/${check.id}`, { groupId: null })).body.groupId).toBeNull();
    expect((await call('DELETE', `/v1/check-groups/${group.id}`)).status).toBe(204);
    for (const [method, path, body] of [
      ['PUT', `/v1/checks/${check.id}`, { groupId: group.id }],
      ['POST', '/v1/checks/url', { name: 'x', groupId: group.id, request: { url: 'http://x.test' } }],
    ] as const) {
      const answer = await call(method, path, body);
      expect([answer.status, answer.body.validation?.keys]).toEqual([400, ['groupId']]);
    }
    expect((await call('GET', `/v1/check-groups/${group.id}`)).status).toBe(404);
    const stranger = await stage.harness.addAccount();
    const foreign = await stage.harness.call('POST', '/v1/check-groups', { name: 'foreign' }, stranger);
    const joined = await call('PUT', `/v1/checks/${check.id}`, { groupId: foreign.body.id });
    expect([joined.status, joined.body.validation?.keys]).toEqual([400, ['groupId']]);
  });

  it('shows its checks with its settings applied, in order', async () => {
    await stage.start();
    const group = await post({ tags: ['shared'], runtimeId: '2025.04', muted: true, runParallel: true });
    const last = await createCheck(stage.harness, { groupId: group.id, name: 'last' });
    const first = await createCheck(stage.harness, { groupId: group.id, groupOrder: 0, tags: ['own'] });
    const outside = await createCheck(stage.harness);
    const applied = { tags: ['shared', 'own'], runtimeId: '2025.04', muted: true, runParallel: true };
    const list = await call('GET', `/v1/check-groups/${group.id}/checks`);
    expect(list.body.map(({ id }: { id: string }) => id)).toEqual([first.id, last.id]);
    expect(list.body[0]).toEqual({ ...first, ...applied });
    expect(list.headers['content-range']).toBe('0-1/2');
    const one = await call('GET', `/v1/check-groups/${group.id}/checks/${first.id}`);
    expect(one.body).toEqual({ ...first, ...applied });
    expect((await call('GET', `/v1/check-groups/${group.id}/checks/${outside.id}`)).status).toBe(404);
    expect((await call('GET', `/v1/checks/${first.id}`)).body).toEqual(first);
    expect((await call('GET', `/v1/checks/${first.id}?applyGroupSettings=true`)).body).toEqual(one.body);
    const all = async (query: string) => (await call('GET', `/v1/checks?tag=own&${query}`)).body;
    expect(await all('')).toEqual([first]);
    expect(await all('applyGroupSettings=true')).toEqual([one.body]);
    expect((await call('GET', '/v1/checks?applyGroupSettings=perhaps')).status).toBe(400);
  });

  it('shows its channels in every response, however they were subscribed', async () => {
    await stage.start();
    const channel = async (subscriptions: object[] = []) => {
      const config = { address: 'ops@example.com' };
      const answer = await call('POST', '/v1/alert-channels', { type: 'EMAIL', config, subscriptions });
      return answer.body.id as number;
    };
    const group = async (fields: object = {}) =>
      (await call('POST', '/v1/check-groups?autoAssignAlerts=false', { name: 'a group', ...fields })).body;
    const ways: Readonly<Record<string, () => Promise<{ groupId: number; alertChannelId: number }>>> = {
      async 'by the group'() {
        const alertChannelId = await channel();
        const made = await group({ alertChannelSubscriptions: [{ alertChannelId, activated: true }] });
        expect(made.alertChannelSubscriptions).toEqual([{ alertChannelId, activated: true }]);
        return { groupId: made.id, alertChannelId };
      },
      async 'by the channel'() {
        const { id: groupId } = await group();
        return { groupId, alertChannelId: await channel([{ groupId }]) };
      },
      async 'by a subscription'() {
        const [{ id: groupId }, alertChannelId] = [await group(), await channel()];
        const path = `/v1/alert-channels/${alertChannelId}/subscriptions`;
        expect((await call('PUT', path, { groupId, activated: true })).status).toBe(200);
        return { groupId, alertChannelId };
      },
    };
    for (const [way, subscribe] of Object.entries(ways)) {
      const { groupId, alertChannelId } = await subscribe();
      const check = await createCheck(stage.harness, { groupId });
      const path = `/v1/check-groups/${groupId}`;
      const listed = (await call('GET', '/v1/check-groups')).body;
      const found = [
        (await call('GET', path)).body,
        await put(groupId, { name: way }),
        listed.find(({ id }: { id: number }) => id === groupId),
        (await call('GET', `/v2/check-groups/${groupId}`)).body,
        (await call('GET', `${path}/checks`)).body[0],
        (await call('GET', `${path}/checks/${check.id}`)).body,
      ].map((shown) => shown.alertChannelSubscriptions);
      const expected = [{ alertChannelId, activated: true }];
      expect([way, found]).toEqual([way, found.map(() => expected)]);
    }
  });

  it('stops its checks when it is deactivated, and cancels waiting runs', async () => {
    await stage.start();
    const group = await post();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], groupId: group.id });
    const idle = await createCheck(stage.harness, {
      privateLocations: ['lab'],
      groupId: group.id,
      activated: false,
    });
    await stage.queueNextSlot(check.id);
    await put(group.id, { activated: false });
    expect(await statesOf(check.id)).toEqual(['cancelled']);
    expect(await nextSlotOf(check.id)).toBeNull();
    const born = await createCheck(stage.harness, { privateLocations: ['lab'], groupId: group.id });
    expect(await nextSlotOf(born.id)).toBeNull();
    // Another update leaves it deactivated.
    await call('PUT', `/v1/checks/${check.id}`, { name: 'renamed' });
    expect(await nextSlotOf(check.id)).toBeNull();
    await put(group.id, { activated: true });
    expect([await nextSlotOf(check.id), await nextSlotOf(born.id)]).not.toContain(null);
    expect(await nextSlotOf(idle.id)).toBeNull();
    await call('PUT', `/v1/checks/${born.id}`, { activated: false, groupId: null });
    await stage.queueNextSlot(check.id);
    expect(await stage.agent.claim()).toHaveLength(1);
  });

  it('tells agents what the checks at their location need, including those whose group names it', async () => {
    await stage.start();
    const elsewhere = await createLocation(stage.harness, 'elsewhere');
    const group = await post({ privateLocations: ['elsewhere'] });
    const here = { privateLocations: ['lab'] };
    await createCheck(stage.harness, { ...here, name: 'A' });
    stage.clock.advance(1);
    await createCheck(stage.harness, { ...here, name: 'B' });
    await createCheck(stage.harness, { ...here, name: 'off', activated: false });
    await createCheck(stage.harness, { ...here, name: 'moved', groupId: group.id });
    const needsAt = async ({ key }: { readonly key: string }) =>
      (await stage.harness.call('GET', '/v1/agent/needs', undefined, { key })).body.needs;
    const need = { checkType: 'URL', runtimeId: null, browsers: [] };
    expect(await needsAt(stage.location)).toEqual([{ ...need, checkCount: 2, checkNames: ['A', 'B'] }]);
    expect(await needsAt(elsewhere)).toEqual([{ ...need, checkCount: 1, checkNames: ['moved'] }]);
  });

  it('moves its checks to its own locations, all at once if configured', async () => {
    await stage.start();
    await createLocation(stage.harness, 'b');
    await createLocation(stage.harness, 'c');
    const group = await post();
    const check = await createCheck(stage.harness, { privateLocations: ['lab'], groupId: group.id });
    await stage.queueNextSlot(check.id);
    const slotAt = await nextSlotOf(check.id);
    await put(group.id, { privateLocations: ['b', 'c'], runParallel: true });
    expect(await statesOf(check.id)).toEqual(['cancelled']);
    expect(await nextSlotOf(check.id)).toBe(slotAt);
    const followed = await stage.harness.store.statuses.followed([check.id]);
    expect(followed.parallel).toEqual(new Set([check.id]));
    await stage.queueNextSlot(check.id, 2);
    const places = (await stage.runsOf(check.id)).map(({ location }) => location);
    expect(places.sort()).toEqual(['b', 'c', 'lab']);
    const location = (await call('GET', '/v1/private-locations')).body.find(
      ({ slugName }: { slugName: string }) => slugName === 'b',
    );
    const used = await call('DELETE', `/v1/private-locations/${location.id}`);
    expect([used.status, used.body.message]).toEqual([
      409,
      expect.stringContaining('the check groups "a group"'),
    ]);
    await put(group.id, { privateLocations: [], runParallel: null });
    expect((await call('DELETE', `/v1/private-locations/${location.id}`)).status).toBe(204);
  });
}

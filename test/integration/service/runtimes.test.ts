import { afterAll, beforeAll, expect, it } from 'vitest';
import { runtimeIds } from '../../../src/checks/tables/runtimes.ts';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

it('lists every runtime that a check can refer to, and shows one', async () => {
  const list = await harness.call('GET', '/v1/runtimes');
  expect(list.body.map(({ name }: { name: string }) => name)).toEqual(runtimeIds);
  const one = await harness.call('GET', '/v1/runtimes/2026.04');
  expect(one.body).toEqual(list.body[0]);
  expect(one.body).toMatchObject({
    stage: 'CURRENT',
    nodeJsVersion: 'v24.13.1',
    multiStepSupport: true,
    dependencies: { playwright: '1.58.2' },
  });
  expect((await harness.call('GET', '/v1/runtimes/1999.01')).status).toBe(404);
});

it('lists every location that a check can refer to, with its city', async () => {
  const list = await harness.call('GET', '/v1/locations');
  expect(list.status).toBe(200);
  expect(list.body).toHaveLength(22);
  expect(list.body).toContainEqual({ region: 'eu-central-1', name: 'Frankfurt' });
});

it('shows the limits of the account', async () => {
  const { body } = await harness.call('GET', '/v1/accounts/me/entitlements');
  const byKey = new Map(body.entitlements.map((one: { key: string }) => [one.key, one]));
  expect(byKey.get('CHECK_TYPE_ICMP')).toEqual({
    key: 'CHECK_TYPE_ICMP',
    name: 'ICMP monitor',
    description: 'ICMP monitor',
    type: 'flag',
    enabled: true,
  });
  expect(byKey.get('STATUS_PAGE_SUBSCRIBERS')).toMatchObject({ enabled: false });
  expect(byKey.get('CHECKS')).toEqual({
    key: 'CHECKS',
    name: 'Checks',
    description: 'Checks',
    type: 'metered',
    enabled: true,
  });
  expect(body).toMatchObject({ planDisplayName: 'Self-hosted', addons: {}, locations: { all: [] } });
  expect(byKey.get('ARTIFACT_BYTES')).toMatchObject({ quantity: 157_286_400 });
});

it('shows the account of the key', async () => {
  const own = await harness.call('GET', '/v1/accounts/me');
  expect(own.body).toMatchObject({ id: harness.accountId, name: 'Test', runtimeId: '2026.04' });
  expect(own.body.alertSettings.runBasedEscalation).toEqual({ failedRunThreshold: 1 });
  const stranger = await harness.addAccount();
  const other = await harness.call('GET', '/v1/accounts/me', undefined, stranger);
  expect(other.body.id).toBe(stranger.accountId);

  const settings = { ...own.body.alertSettings, reminders: { amount: 3, interval: 10 } };
  expect((await harness.call('PUT', '/v1/accounts/me/alert-settings', settings)).status).toBe(200);
  const changed = (await harness.call('GET', '/v1/accounts/me')).body;
  expect(changed).toMatchObject({
    plan: 'SELF_HOSTED',
    alertSettings: { reminders: { amount: 3, interval: 10 } },
  });
  expect((await harness.call('GET', '/v1/accounts')).body).toEqual([changed]);
  expect((await harness.call('GET', `/v1/accounts/${harness.accountId.toUpperCase()}`)).body).toEqual(
    changed,
  );
  expect((await harness.call('GET', `/v1/accounts/${stranger.accountId}`)).status).toBe(404);
  expect((await harness.call('GET', '/v1/accounts/nonsense')).status).toBe(400);
});

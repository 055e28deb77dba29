import { afterAll, beforeAll, expect, it } from 'vitest';
import { runtimeIds } from '../../src/checks/common-fields.ts';
import { type Bench, openBench } from '../helpers/service.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

it('lists every runtime a check can name, and shows one', async () => {
  const list = await bench.call('GET', '/v1/runtimes');
  expect(list.body.map(({ name }: { name: string }) => name)).toEqual(runtimeIds);
  const one = await bench.call('GET', '/v1/runtimes/2026.04');
  expect(one.body).toEqual(list.body[0]);
  expect(one.body).toMatchObject({
    stage: 'CURRENT',
    nodeJsVersion: 'v24.13.1',
    multiStepSupport: true,
    dependencies: { playwright: '1.58.2' },
  });
  expect((await bench.call('GET', '/v1/runtimes/1999.01')).status).toBe(404);
});

it('lists every location a check can name, with its city', async () => {
  const list = await bench.call('GET', '/v1/locations');
  expect(list.status).toBe(200);
  expect(list.body).toHaveLength(22);
  expect(list.body).toContainEqual({ region: 'eu-central-1', name: 'Frankfurt' });
});

it('shows the account of the key', async () => {
  const own = await bench.call('GET', '/v1/accounts/me');
  expect(own.body).toMatchObject({ id: bench.accountId, name: 'Test', runtimeId: '2026.04' });
  expect(own.body.alertSettings.runBasedEscalation).toEqual({ failedRunThreshold: 1 });
  const stranger = await bench.addAccount();
  const other = await bench.call('GET', '/v1/accounts/me', undefined, stranger);
  expect(other.body.id).toBe(stranger.accountId);
});

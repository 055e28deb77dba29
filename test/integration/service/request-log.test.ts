import { afterEach, expect, it } from 'vitest';
import { createLogger } from '../../../src/lib/log.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  type ServiceHarness,
  TestAgent,
} from '../../helpers/service/service.ts';

let harness: ServiceHarness;
afterEach(async () => await harness.close());

it('logs every request, and who changed what, without keys and tokens', async () => {
  const text: string[] = [];
  const logger = createLogger('test', 'info', { write: (line: string) => void text.push(line) });
  harness = await openHarness({ logger });
  const check = await createCheck(harness);
  await harness.call('GET', `/v1/checks/${check.id}`);
  await harness.call('PUT', `/v1/checks/${check.id}`, { frequncy: 1 });
  await harness.call('GET', '/v1/checks', undefined, { key: 'ak_wrong' });
  await harness.call('GET', '/v1/ping/00000000-0000-4000-8000-000000000000', undefined, { key: null });
  await new TestAgent(harness, await createLocation(harness, 'lab')).claim();
  const lines = text.map((line) => JSON.parse(line) as Record<string, unknown>);
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(requests.map(({ level, method, path, status }) => [level, method, path, status])).toEqual([
    ['info', 'POST', '/v1/checks/url', 201],
    ['info', 'GET', '/v1/checks/{id}', 200],
    ['info', 'PUT', '/v1/checks/{id}', 400],
    ['info', 'GET', '/v1/checks', 401],
    ['info', 'GET', '/v1/ping/{pingToken}', 404],
    ['info', 'POST', '/v1/private-locations', 201],
  ]);
  const { accountId } = harness;
  expect(lines.filter(({ msg }) => msg === 'audit')).toMatchObject([
    { accountId, role: 'ADMIN', operation: 'createUrlMonitor', status: 201, keyId: expect.any(String) },
    { accountId, operation: 'updateCheck', object: { id: check.id }, status: 400 },
    { accountId, operation: 'createPrivateLocation', status: 201 },
  ]);
  expect(text.join('')).not.toMatch(new RegExp(`${harness.key}|ak_wrong|00000000-0000-4000`));
});

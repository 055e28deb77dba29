import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const request = { hostname: 'gateway.test' };
const create = (fields: object = {}) =>
  harness.call('POST', '/v1/checks/icmp', { name: 'Gateway', request, ...fields });

describe('PUT of an ICMP monitor', () => {
  it('requires heartbeat and script, and names both together with other errors', async () => {
    const { body } = await create();
    const answer = await harness.call('PUT', `/v1/checks/icmp/${body.id}`, { maxPacketLossThreshold: 101 });
    expect(answer.status).toBe(400);
    expect([...answer.body.validation.keys].sort()).toEqual([
      'heartbeat',
      'maxPacketLossThreshold',
      'script',
    ]);
  });

  it.each([
    [{ heartbeat: null, script: '' }, 'heartbeat'],
    [{ heartbeat: [], script: '' }, 'heartbeat'],
    [{ heartbeat: 'text', script: '' }, 'heartbeat'],
    [{ heartbeat: {}, script: null }, 'script'],
    [{ heartbeat: {}, script: 7 }, 'script'],
    [{ heartbeat: {} }, 'script'],
  ])('refuses %j', async (fields, key) => {
    const { body } = await create();
    const answer = await harness.call('PUT', `/v1/checks/icmp/${body.id}`, fields);
    expect([answer.status, answer.body.validation?.keys]).toEqual([400, [key]]);
  });

  it.each([
    { heartbeat: {}, script: '' },
    { heartbeat: { period: 1 }, script: 'text' },
  ])('accepts %j and keeps none of it', async (fields) => {
    const { body } = await create();
    const changed = await harness.call('PUT', `/v1/checks/icmp/${body.id}`, { ...fields, name: 'Renamed' });
    expect(changed.status).toBe(200);
    const { body: read } = await harness.call('GET', `/v1/checks/${body.id}`);
    for (const view of [changed.body, read]) {
      expect(view).toMatchObject({ name: 'Renamed', checkType: 'ICMP', request });
      expect(view).not.toHaveProperty('heartbeat');
      expect(view).not.toHaveProperty('script');
    }
  });

  it('keeps packet loss limits ordered, whichever of the two is changed', async () => {
    const { body } = await create({ degradedPacketLossThreshold: 30, maxPacketLossThreshold: 30 });
    const put = (fields: object) =>
      harness.call('PUT', `/v1/checks/icmp/${body.id}`, { heartbeat: {}, script: '', ...fields });
    for (const fields of [{ degradedPacketLossThreshold: 30.5 }, { maxPacketLossThreshold: 29 }]) {
      const answer = await put(fields);
      expect([answer.status, answer.body.validation?.keys]).toEqual([400, ['maxPacketLossThreshold']]);
    }
    expect((await put({ degradedPacketLossThreshold: null, maxPacketLossThreshold: 1 })).status).toBe(200);
  });
});

it('requires neither on any other operation, and keeps neither', async () => {
  const created = await create({ heartbeat: 7, script: null });
  expect(created.status).toBe(201);
  expect(created.body).not.toHaveProperty('heartbeat');
  const changed = await harness.call('PUT', `/v1/checks/${created.body.id}`, { muted: true });
  expect([changed.status, changed.body.muted]).toEqual([200, true]);
});

it('applies packet loss limits exactly', async () => {
  const statusOf = async (degraded: number | null, max: number | null) =>
    (await create({ degradedPacketLossThreshold: degraded, maxPacketLossThreshold: max })).status;
  expect(await statusOf(0, 20)).toBe(400);
  expect(await statusOf(0.001, 0.001)).toBe(201);
  expect(await statusOf(100, 100)).toBe(201);
  expect(await statusOf(100, 100.1)).toBe(400);
  expect(await statusOf(20.1, 20)).toBe(400);
  expect(await statusOf(null, 0)).toBe(400);
  expect(await statusOf(50, null)).toBe(201);
});

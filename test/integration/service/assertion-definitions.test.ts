import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHarness, type ServiceHarness } from '../../helpers/service/service.ts';

let harness: ServiceHarness;

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const url = 'https://shop.test/';
const create = (type: string, request: object) =>
  harness.call('POST', `/v1/checks/${type}`, { name: 'Shop', request });
const assertion = (fields: object) => ({ source: 'JSON_BODY', comparison: 'NOT_NULL', ...fields });

describe('an assertion that can never be evaluated', () => {
  it.each<[string, object, string, object]>([
    ['api', { url }, 'property', { property: '$.[' }],
    ['api', { url }, 'property', { property: 'name' }],
    ['api', { url }, 'property', { property: "$[?search(@.name, '\\\\d')]" }],
    ['api', { url }, 'property', { source: 'TEXT_BODY', property: '(' }],
    ['api', { url }, 'regex', { source: 'TEXT_BODY', regex: '[z-a]' }],
    ['api', { url }, 'regex', { source: 'HEADERS', property: 'server', regex: '(?<' }],
    ['dns', { query: 'shop.test', recordType: 'A' }, 'property', { source: 'JSON_ANSWER', property: '$..' }],
    ['dns', { query: 'shop.test', recordType: 'A' }, 'regex', { source: 'TEXT_ANSWER', regex: '*' }],
    ['tcp', { hostname: 'shop.test', port: 1 }, 'property', { source: 'RESPONSE_DATA', property: '+' }],
    ['icmp', { hostname: 'shop.test' }, 'property', { source: 'JSON_RESPONSE', property: '$.a b' }],
  ])('of type %s is refused and named: %j %s %j', async (type, request, field, fields) => {
    const comparison = type === 'tcp' || type === 'icmp' ? 'NOT_EMPTY' : 'NOT_NULL';
    const good = type === 'api' ? [assertion({ property: '$.a' })] : [];
    const assertions = [...good, assertion({ comparison, ...fields })];
    const { status, body } = await create(type, { ...request, assertions });
    expect([status, body.validation?.keys]).toEqual([400, [`request.assertions.${good.length}.${field}`]]);
    expect(body.message).toContain('cannot be used');
  });

  it('is refused in a change, in a check of any type, and in the defaults of a group', async () => {
    const broken = [assertion({ property: '$[' })];
    const { body } = await create('api', { url, assertions: [assertion({ property: '$.a' })] });
    const changed = await harness.call('PUT', `/v1/checks/api/${body.id}`, {
      request: { assertions: broken },
    });
    expect([changed.status, changed.body.validation?.keys]).toEqual([400, ['request.assertions.0.property']]);
    const any = { name: 'Shop', checkType: 'API', request: { url, assertions: broken } };
    expect((await harness.call('POST', '/v1/checks', any)).status).toBe(400);
    const group = { name: 'Shops', locations: [], apiCheckDefaults: { assertions: broken } };
    const refused = await harness.call('POST', '/v1/check-groups', group);
    expect([refused.status, refused.body.validation?.keys]).toEqual([
      400,
      ['apiCheckDefaults.assertions.0.property'],
    ]);
  });

  it.each([
    { property: '' },
    { property: '$[?@.price < 0.5].name.length' },
    { source: 'HEADERS', property: '', regex: '(' },
    { source: 'STATUS_CODE', property: '(', regex: '(' },
    { source: 'TEXT_BODY', property: '(?<=a)b(c)\\1', regex: '(' },
  ])('is not one with an unused field, nor a valid one: %j', async (fields) => {
    const { status } = await create('api', { url, assertions: [assertion(fields)] });
    expect(status).toBe(201);
  });
});

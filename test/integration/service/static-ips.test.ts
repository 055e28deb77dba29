import { expect, it } from 'vitest';
import { readServiceConfig } from '../../../src/platform/config/config.ts';
import { readStaticIps } from '../../../src/platform/config/static-ips.ts';
import { openHarness } from '../../helpers/service/service.ts';

const v4 = 'lab=203.0.113.0/28,198.51.100.7 office=198.51.100.7';
const v6 = 'lab=2001:db8:4:100::/56';

it("returns the operator's configuration, as lists, by location and as text", async () => {
  const config = readServiceConfig({ STATIC_IPS: v4, STATIC_IPV6S: v6 });
  const staticIps = {
    v4: readStaticIps(config.STATIC_IPS, '4').byLocation,
    v6: readStaticIps(config.STATIC_IPV6S, '6').byLocation,
  };
  const harness = await openHarness({ staticIps });
  const body = async (path: string) => (await harness.call('GET', `/v1/${path}`)).body;
  expect(await body('static-ips')).toEqual(['203.0.113.0/28', '198.51.100.7']);
  expect(await body('static-ips-by-region')).toEqual({
    lab: ['203.0.113.0/28', '198.51.100.7'],
    office: ['198.51.100.7'],
  });
  const text = await harness.call('GET', '/v1/static-ips.txt');
  expect([text.headers['content-type'], text.body]).toEqual([
    'text/plain; charset=utf-8',
    '203.0.113.0/28\n198.51.100.7\n',
  ]);
  expect(await body('static-ipv6s')).toEqual(['2001:db8:4:100::/56']);
  expect(await body('static-ipv6s-by-region')).toEqual({ lab: ['2001:db8:4:100::/56'] });
  expect(await body('static-ipv6s.txt')).toBe('2001:db8:4:100::/56\n');
  await harness.close();
});

it('is empty by default', async () => {
  const harness = await openHarness();
  const bodies = [];
  for (const path of [
    'static-ips',
    'static-ips-by-region',
    'static-ips.txt',
    'static-ipv6s',
    'static-ipv6s.txt',
  ]) {
    const answer = await harness.call('GET', `/v1/${path}`);
    bodies.push([answer.status, answer.body]);
  }
  expect(bodies).toEqual([
    [200, []],
    [200, {}],
    [200, ''],
    [200, []],
    [200, ''],
  ]);
  await harness.close();
});

it.each([
  ['STATIC_IPS', 'lab', '"lab" must be a location'],
  ['STATIC_IPS', 'lab=', '"lab=" must be a location'],
  ['STATIC_IPS', 'lab=300.1.1.1', '"300.1.1.1" is not an IPv4 address'],
  ['STATIC_IPS', 'lab=2001:db8::1', 'is not an IPv4 address'],
  ['STATIC_IPS', 'lab=127.1', 'is not an IPv4 address'],
  ['STATIC_IPS', 'lab=1.2.3.4/33', 'is not an IPv4 address or network'],
  ['STATIC_IPV6S', 'lab=1.2.3.4', 'is not an IPv6 address'],
  ['TRUSTED_PROXIES', '10.0.0.0/8, 10.1', '"10.1" is not an IP address'],
])('refuses %s=%s', (name, value, problem) => {
  expect(() => readServiceConfig({ [name]: value })).toThrow(problem);
});

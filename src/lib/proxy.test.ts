import { expect, it } from 'vitest';
import { isExcepted, type ProxySettings, proxyUrlOf } from './proxy.ts';

it.each([
  ['https://picket.test', 'picket.test', true],
  ['https://picket.test', 'PICKET.test, other', true],
  ['https://a.picket.test', 'picket.test', false],
  ['https://a.picket.test', '.picket.test', true],
  ['https://a.picket.test', '*.picket.test', true],
  ['https://picket.test', '*', true],
  ['https://picket.test', 'picket.test:443', true],
  ['https://picket.test', 'picket.test:8443', false],
  ['http://10.1.2.3:8080', '10.0.0.0/8', true],
  ['http://11.1.2.3', '10.0.0.0/8', false],
  ['http://10.1.2.3', '10.0.0.0/99', false],
  ['http://[fd00::1]', 'fd00::/8', true],
  ['http://[fd00::1]:8080', '[fd00::1]:8080', true],
  ['http://[fd00::1]', 'fd00::1', true],
  ['https://picket.test', '', false],
])('%s with NO_PROXY=%s: %s', (url, list, expected) => {
  expect(isExcepted(new URL(url), list)).toBe(expected);
});

it('uses the proxy of the scheme', () => {
  const proxy = { http: 'http://plain:1', https: 'http://secure:2', except: undefined };
  const of = (serviceUrl: string, other = proxy as ProxySettings) => proxyUrlOf(serviceUrl, other)?.host;
  expect(of('https://picket.test')).toBe('secure:2');
  expect(of('http://picket.test')).toBe('plain:1');
  expect(of('https://picket.test', { ...proxy, https: undefined })).toBe('plain:1');
  expect(of('http://picket.test', { ...proxy, http: undefined })).toBeUndefined();
  const all = 'socks5://any:3';
  expect(of('https://picket.test', { ...proxy, all })).toBe('secure:2');
  expect(of('http://picket.test', { ...proxy, http: undefined, all })).toBe('any:3');
  expect(of('https://picket.test', { all })).toBe('any:3');
  expect(of('https://picket.test', { all, except: 'picket.test' })).toBeUndefined();
  expect(of('https://picket.test', { ...proxy, except: 'picket.test' })).toBeUndefined();
});

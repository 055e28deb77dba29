import { describe, expect, it } from 'vitest';
import { isServerNameUsed, parseHostname, parseServerName, RequestUrl } from './target.ts';

describe('parseHostname', () => {
  it.each([
    ['db.example.com', 'db.example.com'],
    [' DB.Example.com. ', 'db.example.com.'],
    ['_ldap._tcp.example', '_ldap._tcp.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['10.0.0.1', '10.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['0177.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0', '0.0.0.0'],
    ['１２７.０.０.１', '127.0.0.1'],
    ['::1', '::1'],
    ['[fe80::1]', 'fe80::1'],
    ['::ffff:a9fe:a9fe', '::ffff:a9fe:a9fe'],
  ])('%s is %s', (written, host) => {
    expect(parseHostname(written)).toBe(host);
  });

  it.each([
    'http://example.com',
    'example.com:80',
    '[::1]:80',
    'example.com/x',
    'user@example.com',
    'two words',
    '1.2.3.4.5',
    '256.1.1.1',
    '[example.com]',
    '%31.example',
    '',
  ])('%s is not a host', (written) => {
    expect(parseHostname(written)).toBeUndefined();
  });
});

describe('parseServerName', () => {
  it.each([
    ['Shop.Example.com.', 'shop.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['intern_1', 'intern_1'],
  ])('%s is %s', (written, name) => {
    expect(parseServerName(written)).toBe(name);
  });

  it.each(['10.0.0.1', '[::1]', '*.example.com', 'https://example.com', 'a:443', 'a..b', ''])(
    '%s is not a valid name for TLS',
    (written) => {
      expect(parseServerName(written)).toBeUndefined();
    },
  );

  it.each([
    ['https://a/', false, true],
    ['http://a/', true, true],
    ['http://a/', false, false],
    ['{{BASE}}', false, true],
  ])('%s has a use for it', (url, followRedirects, isUsed) => {
    expect(isServerNameUsed({ url, followRedirects, serverName: 'shop.example' })).toBe(isUsed);
    expect(isServerNameUsed({ url, followRedirects, serverName: null })).toBe(true);
  });
});

it.each([
  ['http://[fe80::1%25eth0]/', false],
  ['https://user:p@[fe80::1%eth0]:8443/', false],
  ['http://[fe80::1]/?q=[a%20b]', true],
  ['http://example.com/[%20]', true],
])('a URL cannot have a zone id: %s', (url, isTaken) => {
  expect(RequestUrl.safeParse(url).success).toBe(isTaken);
});

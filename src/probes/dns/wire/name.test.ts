import { describe, expect, it } from 'vitest';
import { isSameName, queryName, reverseName } from './name.ts';

describe('a name to query', () => {
  it.each([
    ['example.test', 'example.test'],
    [' Example.Test. ', 'Example.Test'],
    ['.', '.'],
    ['_sip._tcp.example.test', '_sip._tcp.example.test'],
    ['*.example.test', '*.example.test'],
    ['Bücher.test', 'xn--bcher-kva.test'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`],
  ])('%j is queried as %j', (text, name) => {
    expect(queryName(text)).toBe(name);
  });

  it.each([
    '',
    '..',
    'a..b',
    '.a',
    'two words',
    'a\\.b',
    'tab\there',
    `${'a'.repeat(64)}.test`,
    Array(130).fill('a').join('.'),
  ])('%j is invalid', (text) => {
    expect(queryName(text)).toBeUndefined();
  });

  it('is the same in any case, with and without its trailing dot', () => {
    expect(isSameName('WWW.Example.test', 'www.example.TEST.')).toBe(true);
    expect(isSameName('www.example.test', 'example.test')).toBe(false);
  });
});

describe('the name of an address', () => {
  it.each([
    ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
    ['::1', `1.${'0.'.repeat(31)}ip6.arpa`],
    ['2001:db8::567:89ab', 'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
    ['::ffff:192.0.2.1', `1.0.2.0.0.0.0.c.f.f.f.f.${'0.'.repeat(20)}ip6.arpa`],
  ])('%s is %s', (address, name) => {
    expect(reverseName(address)).toBe(name);
  });

  it('does not exist for a value that is not an address', () => {
    expect(reverseName('example.test')).toBeUndefined();
    expect(reverseName('1.2.3')).toBeUndefined();
  });
});

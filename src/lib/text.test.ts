import { describe, expect, it } from 'vitest';
import { matchesGlob, withoutPassword } from './text.ts';

describe('matchesGlob', () => {
  it.each([
    ['a.example.com', '*.example.com', true],
    ['example.com', '*.example.com', false],
    ['example.com', 'example.com', true],
    ['xexample.com', 'example.com', false],
    ['db-7.prod.internal', 'db-*.prod.*', true],
    ['abab', '*ab*ab', true],
    ['ab', '*ab*ab', false],
    ['aa', 'a*a', true],
    ['a', 'a*a', false],
    ['', '*', true],
  ])('%s and %s: %s', (text, pattern, fits) => {
    expect(matchesGlob(text, pattern)).toBe(fits);
  });
});

it.each([
  ['http://user:secret@proxy.test:3128', 'http://user:***@proxy.test:3128'],
  ['socks5://user:s@cr:t@proxy.test', 'socks5://user:***@proxy.test'],
  ['https://:secret@proxy.test/', 'https://:***@proxy.test/'],
  ['https://user@proxy.test', 'https://user@proxy.test'],
  ['https://proxy.test/a:b@c', 'https://proxy.test/a:b@c'],
  ['socks5h://{{USER}}:{{PASSWORD}}@proxy.test', 'socks5h://{{USER}}:***@proxy.test'],
])('%s is shown as %s', (address, shown) => {
  expect(withoutPassword(address)).toBe(shown);
});

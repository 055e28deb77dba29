import { describe, expect, it } from 'vitest';
import { matchesGlob } from './text.ts';

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

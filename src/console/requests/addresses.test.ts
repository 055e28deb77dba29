import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownPath } from './addresses.ts';

const origin = 'https://picket.example.com';
/** The origin that a browser resolves for a Location header, or a link, on one of our pages. */
const originOf = (location: string) => URL.parse(location, `${origin}/login`)?.origin;

describe('a redirect target', () => {
  it.each([
    '/.//evil.example/phish',
    '/..//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/.\\\\evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t//evil.example',
    '/.//.//evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
  ])('%j stays at our origin', (wanted) => {
    expect(originOf(ownPath(wanted))).toBe(origin);
  });

  it('stays at our origin, whatever the text is', () => {
    const part = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2F',
      '?',
      '#',
      '@',
      ':',
      '\t',
      '\n',
      ' ',
      'evil.example',
      'https:',
      'a',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part).map((parts) => `/${parts.join('')}`),
      fc.webUrl(),
    );
    fc.assert(
      fc.property(texts, (wanted) => {
        const place = ownPath(wanted);
        expect(originOf(place)).toBe(origin);
        // Values in a cookie or a form are validated again.
        expect(ownPath(place)).toBe(place);
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps our paths with their query', () => {
    expect(ownPath('/checks/1?tab=runs&x=%2F')).toBe('/checks/1?tab=runs&x=%2F');
    expect(ownPath(null)).toBe('/');
  });
});

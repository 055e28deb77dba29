import fc from 'fast-check';
import { expect, it } from 'vitest';
import { areAlike } from './similarity.ts';

/** The textbook Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

it('is 80 % by the textbook', () => {
  expect(areAlike('abcdefghij', 'abcdefghxy')).toBe(true);
  expect(areAlike('abcdefghij', 'abcdefgxyz')).toBe(false);
  expect(areAlike('', '')).toBe(true);
  expect(areAlike('', 'a')).toBe(false);
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 });
  fc.assert(
    fc.property(
      letters,
      fc.array(fc.tuple(fc.nat(40), fc.constantFrom('', 'b', 'xy')), { maxLength: 9 }),
      (a, edits) => {
        let b = a;
        for (const [at, text] of edits) b = b.slice(0, at) + text + b.slice(at + 1);
        const longest = Math.max(a.length, b.length);
        expect(areAlike(a, b)).toBe(distance(a, b) * 5 <= longest);
      },
    ),
    { numRuns: 2000 },
  );
});

it('compares the first 500 characters only', () => {
  expect(areAlike('a'.repeat(500) + 'b'.repeat(500), 'a'.repeat(500))).toBe(true);
});

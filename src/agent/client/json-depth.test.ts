import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNestedDeeperThan } from './json-depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('isNestedDeeperThan', () => {
  it('finds the depth of any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isPretty) => {
        const text = JSON.stringify(value, undefined, isPretty ? 2 : 0);
        const depth = depthOf(JSON.parse(text));
        expect(isNestedDeeperThan(text, depth)).toBe(false);
        if (depth > 0) expect(isNestedDeeperThan(text, depth - 1)).toBe(true);
      }),
    );
  });

  it('is not fooled by brackets, quotes and backslashes in strings', () => {
    const text = JSON.stringify({ 'a"[[[': '\\"[[[\\\\', b: '\\' });
    expect(isNestedDeeperThan(text, 1)).toBe(false);
  });

  it('accepts text that is cut off or not JSON', () => {
    expect(isNestedDeeperThan('["abc', 1)).toBe(false);
    expect(isNestedDeeperThan('[[[[', 3)).toBe(true);
    expect(isNestedDeeperThan(']]]][[', 3)).toBe(false);
  });
});

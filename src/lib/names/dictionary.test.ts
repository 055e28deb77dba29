import { expect, it } from 'vitest';
import { dictionary } from './dictionary.ts';

it('has its own entries, and none that every object inherits', () => {
  const words = dictionary({ one: 1 });
  expect(words.one).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
    expect(words[name]).toBeUndefined();
});

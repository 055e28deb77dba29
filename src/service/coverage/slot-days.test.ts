import { expect, it } from 'vitest';
import { sealedTogether } from './slot-days.ts';

it('seals as many slots of several checks together as of one with a long history', () => {
  const seals = { a: 400, b: 600, c: 1, d: 5_000, e: 999, f: 2 };
  const asked = new Map(Object.entries(seals).map(([id, slots]) => [id, { from: 0, to: 1, slots }]));
  expect(sealedTogether(asked)).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f']]);
  expect(sealedTogether(new Map())).toEqual([]);
});

import { expect, it } from 'vitest';
import { greatestOf, leastOf } from './extremes.ts';

it('finds the extremes of more values than a call accepts as arguments', () => {
  const values = Float64Array.from({ length: 1_000_000 }, (_, index) => (index * 7_919) % 1_000_003);
  expect([leastOf(values), greatestOf(values)]).toEqual([0, values.toSorted().at(-1)]);
  expect([leastOf([]), greatestOf([])]).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
});

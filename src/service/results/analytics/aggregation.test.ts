import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aggregate } from './aggregation.ts';

/** Enough numbers for buckets, in several distributions; some of them missing. */
const shapes = {
  times: (random: number) => Math.round(20_000 + 30_000_000 * random ** 8) / 1000,
  zeros: (random: number) => (random < 0.6 ? 0 : random),
  same: () => 12.5,
  wide: (random: number) => random * 2 ** Math.floor(random * 600),
  negative: (random: number) => random - 0.5,
};
const percentiles = { p50: 0.5, median: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const;

it('yields the same numbers as sorting, for few or many of them, in any distribution', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...(Object.keys(shapes) as (keyof typeof shapes)[])),
      fc.constantFrom(1, 2, 19_999, 20_000, 50_001),
      fc.integer({ min: 1 }),
      fc.constantFrom(0, 0.01, 0.5),
      (shape, count, seed, missing) => {
        const random = seeded(seed);
        const values = Float64Array.from({ length: count }, () =>
          random() < missing ? Number.NaN : shapes[shape](random()),
        );
        const before = Float64Array.from(values);
        const sorted = values.filter((value) => !Number.isNaN(value)).sort();
        const found = aggregate(values, ['p50', 'median', 'p90', 'p95', 'p99', 'min', 'max', 'sum']);
        for (const [name, share] of Object.entries(percentiles)) {
          const expected = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
          expect([name, found.get(name as 'p50')]).toEqual([name, expected]);
        }
        expect(found.get('min')).toBe(sorted[0] ?? null);
        expect(found.get('max')).toBe(sorted.at(-1) ?? null);
        // The input may be part of an array that others use.
        expect(values).toEqual(before);
      },
    ),
    { numRuns: 30 },
  );
});

function seeded(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

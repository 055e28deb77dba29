import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeNumbers, decodeTexts, encodeNumbers, encodeTexts } from './column-coding.ts';

const whole = (max: number) => fc.integer({ min: -max, max });
const numbers = fc.oneof(
  ...[0, 100, 40_000, 10_000_000, 2_000_000_000].map((max) =>
    fc.array(fc.oneof({ weight: 9, arbitrary: whole(max) }, fc.constant(Number.NaN))),
  ),
  fc.array(whole(2 ** 31).map((thousandths) => thousandths / 1000)),
  fc.array(fc.integer({ min: 1_700_000_000_000, max: 1_700_086_400_000 })),
  // Constants, empty lists, and values with too many digits.
  fc.tuple(fc.double(), fc.nat(20)).map(([value, length]) => Array<number>(length).fill(value)),
  fc.array(fc.double()),
);

describe('numbers as bytes', () => {
  it('reads back any rows as written', () => {
    fc.assert(
      fc.property(numbers, fc.nat(), fc.nat(), (written, a, b) => {
        const [from = 0, to = 0] = [a % (written.length + 1), b % (written.length + 1)].sort((x, y) => x - y);
        const bytes = encodeNumbers(Float64Array.from(written));
        const read = new Float64Array(to - from + 2).fill(7);
        decodeNumbers(bytes, { from, to }, read, 1);
        // JSON does not distinguish negative zero either.
        expect([...read].map((value) => value + 0)).toEqual(
          [7, ...written.slice(from, to), 7].map((value) => value + 0),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[string, number, number[]]>([
    ['times of a site that answers within a minute, in microseconds', 3, [0.001, 12.345, 16_000]],
    ['counts', 1, [0, 1, 250]],
    ['instants of a day', 4, [1_700_000_000_000, 1_700_086_400_000]],
    ['what is always the same', 0, [12.5, 12.5, 12.5]],
    ['what was never measured', 1, [Number.NaN, Number.NaN]],
    ['more digits than a microsecond has', 8, [0.1 + 0.2]],
  ])('needs few bytes for %s', (_what, width, values) => {
    expect(encodeNumbers(Float64Array.from(values)).length).toBe(16 + width * values.length);
  });
});

it('reads back texts as written, few or many', () => {
  fc.assert(
    fc.property(fc.constantFrom(1, 3, 256, 257, 1000), fc.nat(50), fc.nat(50), (distinct, a, b) => {
      const texts = Array.from({ length: distinct }, (_none, place) => `text ${place}`);
      const index = Uint16Array.from({ length: 50 }, (_none, row) => (row * 7919) % distinct);
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      const read = decodeTexts(encodeTexts({ texts, index }), { from, to });
      expect(read.texts).toEqual(texts);
      expect([...read.index]).toEqual([...index.subarray(from, to)]);
    }),
  );
});

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { snappyCompress } from '../../../src/extras/telemetry/remote-write/snappy.ts';
import { snappyDecompress } from '../../helpers/service/remote-write-samples.ts';

it('restores compressed data', () => {
  const pieces = fc.array(fc.tuple(fc.uint8Array({ maxLength: 90 }), fc.integer({ min: 1, max: 40 })));
  fc.assert(
    fc.property(pieces, (all) => {
      const input = Buffer.concat(
        all.flatMap(([piece, times]) => Array.from({ length: times }, () => piece)),
      );
      expect(snappyDecompress(snappyCompress(input)).equals(input)).toBe(true);
    }),
  );
});

it('works for sizes around a block, for noise and for empty input', () => {
  const line = 'check="0190",name="shop",location="lab" ';
  for (const input of [
    Buffer.alloc(0),
    Buffer.from('a'),
    randomBytes(1_000),
    randomBytes(70_000),
    Buffer.alloc(65_535, 'x'),
    Buffer.alloc(65_537, 'x'),
    Buffer.from(line.repeat(5_000)),
  ]) {
    expect(snappyDecompress(snappyCompress(input)).equals(input)).toBe(true);
  }
  expect(snappyCompress(Buffer.from(line.repeat(5_000))).length).toBeLessThan(line.length * 5_000 * 0.1);
});

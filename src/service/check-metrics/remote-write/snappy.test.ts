import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { snappyCompress } from './snappy.ts';

/** Reads the block format, byte by byte as its description says. */
function decompress(input: Buffer): Buffer {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = input.readUInt8(at++);
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const output: number[] = [];
  while (at < input.length) {
    const tag = input.readUInt8(at++);
    if ((tag & 3) === 0) {
      const short = tag >> 2;
      const more = short < 60 ? 0 : short - 59;
      const size = (more === 0 ? short : input.readUIntLE(at, more)) + 1;
      at += more;
      output.push(...input.subarray(at, at + size));
      at += size;
    } else {
      expect(tag & 3).toBe(2);
      const offset = input.readUInt16LE(at);
      at += 2;
      expect(offset).toBeGreaterThan(0);
      expect(offset).toBeLessThanOrEqual(output.length);
      for (let left = (tag >> 2) + 1; left > 0; left -= 1)
        output.push(output[output.length - offset] as number);
    }
  }
  expect(output).toHaveLength(length);
  return Buffer.from(output);
}

it('gives back what was compressed', () => {
  const pieces = fc.array(fc.tuple(fc.uint8Array({ maxLength: 90 }), fc.integer({ min: 1, max: 40 })));
  fc.assert(
    fc.property(pieces, (all) => {
      const input = Buffer.concat(
        all.flatMap(([piece, times]) => Array.from({ length: times }, () => piece)),
      );
      expect(decompress(snappyCompress(input)).equals(input)).toBe(true);
    }),
  );
});

it('holds for sizes around a block, for noise and for nothing', () => {
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
    expect(decompress(snappyCompress(input)).equals(input)).toBe(true);
  }
  expect(snappyCompress(Buffer.from(line.repeat(5_000))).length).toBeLessThan(line.length * 5_000 * 0.1);
});

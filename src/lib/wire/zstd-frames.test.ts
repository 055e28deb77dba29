import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unpackZstd, ZstdFrames } from './zstd-frames.ts';

const limit = { maxOutputLength: 1_000_000 };
const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const skippable = Buffer.concat([Buffer.from('502a4d1803000000', 'hex'), Buffer.from('abc')]);
const emptySkippable = Buffer.from('5f2a4d1800000000', 'hex');
const random = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7919 * index) % 251));
const frames = Buffer.concat([
  zstdCompressSync('one '),
  skippable,
  zstdCompressSync('two '.repeat(100_000), checked),
  zstdCompressSync(''),
  emptySkippable,
  zstdCompressSync(random, checked),
]);
const text = Buffer.concat([Buffer.from(`one ${'two '.repeat(100_000)}`), random]);

async function streamed(bytes: Buffer, pieceBytes: number): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  const parts: Buffer[] = [];
  await pipeline(Readable.from(pieces), new ZstdFrames(), createZstdDecompress(), async (decoded) => {
    for await (const part of decoded) parts.push(part);
  });
  return Buffer.concat(parts);
}

describe('Zstandard data of several frames', () => {
  it('is decoded completely, in one piece and in pieces of any size', async () => {
    expect(unpackZstd(frames, limit).equals(text)).toBe(true);
    for (const pieceBytes of [1, 2, 3, 7, 64, frames.length]) {
      expect((await streamed(frames, pieceBytes)).equals(text)).toBe(true);
    }
  });

  it('is an error in a stream when it is cut off, or when other data follows', async () => {
    await expect(streamed(frames.subarray(0, -1), 100)).rejects.toMatchObject({ code: 'Z_BUF_ERROR' });
    const followed = Buffer.concat([frames, Buffer.from('no frame')]);
    await expect(streamed(followed, 100)).rejects.toMatchObject({ code: 'Z_DATA_ERROR' });
  });

  it('shows the available part when it is cut off, and the part before other bytes', () => {
    const first = zstdCompressSync('one ');
    const cut = zstdCompressSync(random, checked).subarray(0, -5);
    expect(unpackZstd(Buffer.concat([first, cut]), limit).toString('latin1', 0, 4)).toBe('one ');
    expect(unpackZstd(Buffer.concat([first, Buffer.from('no frame')]), limit).toString()).toBe('one ');
  });

  it('stops at the limit over all frames', () => {
    expect(() => unpackZstd(frames, { maxOutputLength: 300_000 })).toThrow(RangeError);
  });
});

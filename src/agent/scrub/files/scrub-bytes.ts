import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
  zstdCompressSync,
} from 'node:zlib';
import { masked } from '@picket/checks/secrets/masking.ts';
import { holdsHiddenText } from '@picket/checks/secrets/packed/hidden-parts.ts';
import { imageTexts } from '@picket/checks/secrets/packed/image-texts.ts';
import { unpackZstd } from '@picket/lib/wire/zstd-frames.ts';
import { type ScrubOptions, Unscrubbable } from '../scrub-report.ts';
import { contentKind, opaqueFormat } from './content-kind.ts';

/** Size limit after decompression. */
const maxInflatedBytes = 256 * 1024 * 1024;

interface Compression {
  readonly unpack: (bytes: Buffer) => Buffer;
  readonly pack: (bytes: Buffer) => Buffer;
}

const limit = { maxOutputLength: maxInflatedBytes };
const gzip: Compression = {
  // Truncated data is decompressed as far as possible: a reader of the file can do so, too.
  unpack: (bytes) => gunzipSync(bytes, { ...limit, finishFlush: constants.Z_SYNC_FLUSH }),
  pack: (bytes) => gzipSync(bytes, { level: 1 }),
};
const zstd: Compression = {
  unpack: (bytes) => unpackZstd(bytes, limit),
  pack: (bytes) => zstdCompressSync(bytes),
};
/**
 * Formats without a signature, recognized only by trying. Servers send them as `deflate`, with or without a header, and
 * `br`.
 */
const unsigned: readonly Compression[] = [
  { unpack: (bytes) => inflateSync(bytes, limit), pack: (bytes) => deflateSync(bytes, { level: 1 }) },
  {
    unpack: (bytes) => brotliDecompressSync(bytes, limit),
    pack: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  },
  { unpack: (bytes) => inflateRawSync(bytes, limit), pack: (bytes) => deflateRawSync(bytes, { level: 1 }) },
];

/**
 * Replaces secrets in bytes, and counts them. Compressed bodies are decompressed, cleaned and compressed again.
 *
 * @throws Unscrubbable if a secret is in a place where it cannot be replaced.
 */
export function scrubBytes(
  bytes: Buffer,
  options: ScrubOptions,
): { readonly bytes: Buffer; readonly count: number } {
  const kind = contentKind(bytes);
  const direct = replaced(bytes, options);
  if (kind === 'opaque')
    throw new Unscrubbable(`${opaqueFormat(bytes)} files cannot be searched for secrets`);
  if (kind === 'media' || kind === 'capture') {
    if (direct.count > 0 || imageTexts(bytes).some((text) => options.finder.find(text).length > 0)) {
      throw new Unscrubbable('the bytes of a binary file contain a secret');
    }
    return direct;
  }
  if (kind === 'gzip') return repacked(bytes, gzip, options, direct.count) ?? direct;
  if (kind === 'zstd') return repacked(bytes, zstd, options, direct.count) ?? direct;
  if (direct.count === 0 && !isText(bytes)) {
    for (const compression of unsigned) {
      const result = repacked(bytes, compression, options);
      if (result) return result;
    }
  }
  if (holdsHiddenText(bytes, (text) => options.finder.find(text).length > 0)) {
    throw new Unscrubbable('an archive inside the file contains a secret');
  }
  return direct;
}

/** Replaces secrets in the name of a file, or in a short text. */
export function scrubName(
  name: string,
  options: ScrubOptions,
): { readonly name: string; readonly count: number } {
  const { bytes, count } = replaced(Buffer.from(name), options);
  return { name: bytes.toString(), count };
}

/**
 * Scrubs compressed bytes; undefined if they are not compressed that way.
 *
 * @param outsideCount secrets outside the compressed bytes, for example in the name of a file: compressing again drops
 * them.
 */
function repacked(bytes: Buffer, { unpack, pack }: Compression, options: ScrubOptions, outsideCount = 0) {
  let inner: Buffer;
  try {
    inner = unpack(bytes);
  } catch (thrown) {
    if (thrown instanceof RangeError)
      throw new Unscrubbable('a compressed body is too large once it is unpacked', thrown);
    return undefined;
  }
  const { count: innerCount, bytes: clean } = replaced(inner, options);
  const count = outsideCount + innerCount;
  return count > 0 ? { bytes: pack(clean), count } : { bytes, count };
}

function replaced(bytes: Buffer, { finder, mask }: ScrubOptions): { bytes: Buffer; count: number } {
  const ranges = finder.find(bytes);
  if (ranges.length === 0) return { bytes, count: 0 };
  return { bytes: masked(bytes, ranges, mask), count: ranges.length };
}

/** Whether bytes look like text from their beginning: compressed data has control characters early on. */
export function isText(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 512);
  return !start.some((value) => value < 9 || (value > 13 && value < 32 && value !== 27));
}

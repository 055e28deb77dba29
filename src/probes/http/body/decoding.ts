import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ZstdFrames } from '@picket/lib/wire/zstd-frames.ts';

const knownEncodings: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);

/** More stages than any real server uses; each costs memory and time. */
const maxEncodings = 5;

/** Names without effect here: chunks are already decoded. */
const withoutEffect: ReadonlySet<string> = new Set(['', 'identity', 'chunked']);

/**
 * Returns the encodings to undo; empty if one of them is unknown or there are too many: the body then stays as
 * received.
 */
export function encodingsToUndo(names: readonly string[]): readonly string[] {
  const encodings = names.map((name) => name.trim().toLowerCase()).filter((name) => !withoutEffect.has(name));
  const isDecodable =
    encodings.length <= maxEncodings && encodings.every((encoding) => knownEncodings.has(encoding));
  return isDecodable ? encodings : [];
}

/** Creates the decoders in pipe order: each stage feeds the next. */
export function decodersFor(encodings: readonly string[], firstChunk: Buffer): Transform[] {
  // Encodings are listed in the order they were applied, so the last one is undone first (RFC 9110 section 8.4).
  const stages = encodings
    .toReversed()
    .flatMap((encoding, index) => decodersOf(encoding, index === 0 ? firstChunk : undefined));
  for (const [index, stage] of stages.entries()) {
    const next = stages[index + 1];
    if (next) stage.pipe(next);
  }
  return stages;
}

function decodersOf(encoding: string, firstChunk: Buffer | undefined): Transform[] {
  switch (encoding) {
    case 'br':
      return [createBrotliDecompress()];
    case 'zstd':
      return [new ZstdFrames(), createZstdDecompress()];
    case 'deflate':
      // "deflate" means the zlib format (RFC 9110 section 8.4.1.2), but some servers send raw deflate data. In zlib the
      // low half of the first byte is always 8.
      return [((firstChunk?.[0] ?? 8) & 0x0f) === 8 ? createInflate() : createInflateRaw()];
    default:
      return [createGunzip()];
  }
}

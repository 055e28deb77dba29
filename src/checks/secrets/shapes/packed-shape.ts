import { constants, gunzipSync } from 'node:zlib';
import { zipTexts } from '../packed/hidden-parts.ts';
import { imageTexts } from '../packed/image-texts.ts';
import type { SecretRange, SecretShape } from './shape.ts';

/** In a stream, only this much of a compressed text is decompressed; Base64 files were decompressed before (files/). */
const maxStreamedBytes = 16 * 1024;
/** The same for a text in memory. */
const maxPackedBytes = 4 * 1024 * 1024;
const maxUnpackedBytes = 16 * 1024 * 1024;
/** Maximum nesting of compressed texts. */
const maxDepth = 3;
const run = /^(?:[A-Za-z0-9+/_-]|\r?\n[ \t]{0,16}|\\+[rn/]|%0[aAdD]|%2[bBfF])*(?:=|%3[dD]){0,2}/;
const lineBreak = /\r?\n|\\+[rn]|%0[aAdD]/;
const none: readonly SecretRange[] = [];

/** How files with compressed texts begin in Base64, and how they are read; of a truncated text, as much as is left. */
const formats: readonly (readonly [string, (bytes: Buffer) => Buffer[]])[] = [
  [
    'H4sI',
    (bytes) => [
      gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxUnpackedBytes }),
    ],
  ],
  // By the version that the first member requires: short anchors would slow down the search for all secrets.
  ...['BAoA', 'BBQA', 'BC0A', 'BDMA', 'BD8A'].map((version) => [`UEsD${version}`, zipTexts] as const),
  ['iVBORw0KGgo', imageTexts],
];

/** A compressed text in Base64: only decompression shows whether it contains a secret. */
class PackedShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes = 0;
  readonly reachForwardBytes = maxStreamedBytes;
  readonly #textsOf: (bytes: Buffer) => Buffer[];
  readonly #holdsSecret: (bytes: Buffer) => boolean;

  constructor([start, textsOf]: (typeof formats)[number], holdsSecret: (bytes: Buffer) => boolean) {
    this.anchor = Buffer.from(start);
    this.#textsOf = textsOf;
    this.#holdsSecret = holdsSecret;
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    const [written = ''] =
      run.exec(bytes.toString('latin1', anchorStart, anchorStart + maxPackedBytes)) ?? [];
    // After a line break another text may follow.
    const [firstLine = ''] = written.split(lineBreak, 1);
    for (const one of firstLine === written ? [written] : [written, firstLine]) {
      const texts = this.#unpacked(bytesOf(one));
      if (texts.some((text) => this.#holdsSecret(text)))
        return [{ start: anchorStart, end: anchorStart + one.length }];
    }
    return none;
  }

  #unpacked(packed: Buffer): Buffer[] {
    try {
      return this.#textsOf(packed);
    } catch {
      // Not compressed after all, or a decompression bomb, which is not searched for passwords.
      return [];
    }
  }
}

function bytesOf(written: string): Buffer {
  const encoded = written
    .replaceAll(/\\+[rn]|%0[aAdD]/g, '')
    .replaceAll(/%2[bB]/g, '+')
    .replaceAll(/%2[fF]/g, '/');
  return Buffer.from(encoded.replaceAll('\\', ''), 'base64');
}

/** Shapes for compressed texts in Base64. */
export function packedShapes(holdsSecret: (bytes: Buffer) => boolean): SecretShape[] {
  let depth = 0;
  const holds = (bytes: Buffer) => {
    if (depth === maxDepth) return false;
    depth += 1;
    try {
      return holdsSecret(bytes);
    } finally {
      depth -= 1;
    }
  };
  return formats.map((format) => new PackedShape(format, holds));
}

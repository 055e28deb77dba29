import { constants, gunzipSync } from 'node:zlib';
import { zipTexts } from '../files/hidden-parts.ts';
import { imageTexts } from '../files/image-texts.ts';
import type { SecretRange, SecretShape } from './shape.ts';

/** In a stream no more of a packed text is unpacked than this; files in Base64 are unpacked before (files/). */
const maxStreamedBytes = 16 * 1024;
/** And of a text that is there as a whole. */
const maxPackedBytes = 4 * 1024 * 1024;
const maxUnpackedBytes = 16 * 1024 * 1024;
/** Packed texts within packed texts. */
const maxDepth = 3;
const run = /^(?:[A-Za-z0-9+/_-]|\r?\n[ \t]{0,16}|\\+[rn/]|%0[aAdD]|%2[bBfF])*(?:=|%3[dD]){0,2}/;
const lineBreak = /\r?\n|\\+[rn]|%0[aAdD]/;
const none: readonly SecretRange[] = [];

/** How files that hold packed texts begin in Base64, and how those are read; of a text that was cut, what is left. */
const formats: readonly (readonly [string, (bytes: Buffer) => Buffer[]])[] = [
  [
    'H4sI',
    (bytes) => [
      gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxUnpackedBytes }),
    ],
  ],
  // By the version that the first member asks for: short anchors would slow the search for all secrets.
  ...['BAoA', 'BBQA', 'BC0A', 'BDMA', 'BD8A'].map((version) => [`UEsD${version}`, zipTexts] as const),
  ['iVBORw0KGgo', imageTexts],
];

/** Text that was packed and then put into Base64: what a secret looks like there, only unpacking tells. */
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
    // Behind a line break the text may go on with something else.
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
      // Text that begins like a packed one and is something else, or a bomb, in which no password is looked for.
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

/** Shapes for packed texts in Base64. */
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

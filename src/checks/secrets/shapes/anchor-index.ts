import type { SecretShape } from './shape.ts';

const maxTableBits = 18;
const minTableBits = 12;
/** Table cells per anchor: with fewer, unlucky collisions make the search advance byte by byte. */
const cellsPerAnchor = 64;

const fourZeros = Buffer.alloc(4);

/** Maximum step of a window of that many bytes. */
export function longestStep(windowBytes: number): number {
  return windowBytes - blockBytes(windowBytes) + 1;
}

function blockBytes(windowBytes: number): 2 | 3 {
  return windowBytes >= 6 ? 3 : 2;
}

/**
 * Finds many anchors at once while reading few of the bytes (the algorithm of Wu and Manber): for the last two or three
 * bytes of a window as long as the shortest anchor, a table says how far the window may advance without missing one.
 */
export class AnchorIndex {
  readonly #windowBytes: number;
  readonly #blockBytes: 2 | 3;
  readonly #shift: Uint8Array;
  readonly #mask: number;
  /** Whether no anchor contains four zero bytes in a row; texts do not in any encoding. */
  readonly #skipsZeros: boolean;
  /** Candidate shapes, by the cell of the block at the end of their first window. */
  readonly #candidates = new Map<number, SecretShape[]>();

  /** @param shapes at least one. */
  constructor(shapes: readonly SecretShape[]) {
    this.#windowBytes = Math.min(255, ...shapes.map(({ anchor }) => anchor.length));
    this.#blockBytes = blockBytes(this.#windowBytes);
    const wantedBits = Math.ceil(Math.log2(shapes.length * cellsPerAnchor));
    const size = 1 << Math.min(maxTableBits, Math.max(minTableBits, wantedBits));
    this.#mask = size - 1;
    this.#shift = new Uint8Array(size).fill(longestStep(this.#windowBytes));
    this.#skipsZeros = this.#blockBytes === 3 && !shapes.some(({ anchor }) => anchor.includes(fourZeros));
    for (const shape of shapes) this.#add(shape);
  }

  /** Calls back for every position of a shape's anchor, in order. */
  forEachAnchor(bytes: Buffer, onAnchor: (shape: SecretShape, at: number) => void): void {
    const { length } = bytes;
    const shift = this.#shift;
    const mask = this.#mask;
    const last = this.#windowBytes - 1;
    const isLong = this.#blockBytes === 3;
    const skipsZeros = this.#skipsZeros;
    let end = last;
    while (end < length) {
      // No method call per step: this loop sees every byte of every artifact.
      const pair = ((bytes[end - 1] as number) << 8) | (bytes[end] as number);
      const block = isLong ? ((bytes[end - 2] as number) << 16) | pair : pair;
      const cell = (Math.imul(block, -1640531535) >>> 10) & mask;
      const step = shift[cell] as number;
      if (block === 0 && skipsZeros && bytes[end - 3] === 0) {
        // Three zeros occur in UTF-32 texts; longer runs, as in binary files, are not text.
        do end += 1;
        while (end < length && bytes[end] === 0);
        continue;
      }
      if (step > 0) {
        end += step;
        continue;
      }
      const at = end - last;
      for (const shape of this.#candidates.get(cell) ?? []) {
        const { anchor } = shape;
        const isThere = bytes[at] === anchor[0] && isAt(bytes, at, anchor);
        if (isThere) onAnchor(shape, at);
      }
      end += 1;
    }
  }

  #add(shape: SecretShape): void {
    const { anchor } = shape;
    for (let end = this.#blockBytes - 1; end < this.#windowBytes; end += 1) {
      const pair = ((anchor[end - 1] ?? 0) << 8) | (anchor[end] ?? 0);
      const block = this.#blockBytes === 3 ? ((anchor[end - 2] ?? 0) << 16) | pair : pair;
      const cell = (Math.imul(block, -1640531535) >>> 10) & this.#mask;
      const step = this.#windowBytes - 1 - end;
      if (step < (this.#shift[cell] ?? 0)) this.#shift[cell] = step;
      if (step > 0) continue;
      const candidates = this.#candidates.get(cell);
      if (candidates) candidates.push(shape);
      else this.#candidates.set(cell, [shape]);
    }
  }
}

function isAt(bytes: Buffer, at: number, anchor: Buffer): boolean {
  if (at + anchor.length > bytes.length) return false;
  for (let index = 1; index < anchor.length; index += 1)
    if (bytes[at + index] !== anchor[index]) return false;
  return true;
}

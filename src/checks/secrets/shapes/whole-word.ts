import type { SecretRange, SecretShape } from './shape.ts';

/**
 * Finds a word in all its forms, but literally only as a whole word: an adjacent lower-case letter makes it part of
 * another word.
 */
export class WholeWord implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes: number;
  readonly reachForwardBytes: number;
  readonly #shape: SecretShape;
  readonly #lower: string;

  constructor(shape: SecretShape, secret: string) {
    this.anchor = shape.anchor;
    this.reachBackBytes = shape.reachBackBytes + 1;
    this.reachForwardBytes = shape.reachForwardBytes + 1;
    this.#shape = shape;
    this.#lower = secret.toLowerCase();
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    return this.#shape.rangesAt(bytes, anchorStart).filter(({ start, end }) => {
      if (bytes.toString('latin1', start, end).toLowerCase() !== this.#lower) return true;
      return !isLowerLetter(bytes[end]) && !isWithinWord(bytes, start);
    });
  }
}

/** A word may begin after an escape such as `\n`. */
function isWithinWord(bytes: Buffer, start: number): boolean {
  return isLowerLetter(bytes[start - 1]) && bytes[start - 2] !== 0x5c;
}

function isLowerLetter(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x61 && byte <= 0x7a;
}

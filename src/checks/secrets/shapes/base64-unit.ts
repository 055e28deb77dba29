import type { Unit } from './shape.ts';

/** Line breaks in wrapped Base64: literal, escaped, or percent-encoded. */
const lineBreak = /^(?:\r?\n[ \t]{0,16}|(?:\\{1,7}r)?\\{1,7}n[ \t]{0,4}|(?:%0[dD])?%0[aA]|&#1[03];)/;
const maxLineBreakBytes = 20;

/** Alternative spellings of a character of the Base64 alphabet: for URLs, and escaped. */
const otherSpellings: Readonly<Record<string, RegExp>> = {
  '+': /^(?:[-+]|%(?:25)*2[bB]|\\{1,7}u002[bB]|\\{1,7}x2[bB]|&#(?:43|x2[bB]);|&plus;)/,
  '/': /^(?:\\{0,7}\/|_|%(?:25)*2[fF]|\\{1,7}u002[fF]|\\{1,7}x2[fF]|&#(?:47|x2[fF]);|&sol;)/,
};

/** A possible line break before a piece of Base64 that is searched literally. */
export class LineBreak implements Unit {
  readonly maxBytes = maxLineBreakBytes;

  endsAt(bytes: Buffer, at: number): readonly number[] {
    const broken = lineBreak.exec(bytes.toString('latin1', at, at + maxLineBreakBytes));
    return broken ? [at + broken[0].length, at] : [at];
  }
}

/** One character of a Base64 text, optionally preceded by a line break. */
export class Base64Unit implements Unit {
  readonly maxBytes: number;
  readonly #code: number;
  readonly #spellings: RegExp | undefined;
  readonly #isFirst: boolean;

  /** @param isFirst no line break may precede it. */
  constructor(character: string, isFirst = false) {
    this.#isFirst = isFirst;
    this.#code = character.charCodeAt(0);
    this.#spellings = otherSpellings[character];
    this.maxBytes = maxLineBreakBytes + (this.#spellings ? 13 : 1);
  }

  endsAt(bytes: Buffer, at: number): readonly number[] {
    if (!this.#spellings && bytes[at] === this.#code) return [at + 1];
    const end = this.#endAt(bytes, at);
    if (end !== undefined) return [end];
    const first = bytes[at];
    // Carriage return, line feed, backslash, percent, ampersand.
    if (this.#isFirst || first === undefined) return [];
    if (first !== 13 && first !== 10 && first !== 92 && first !== 37 && first !== 38) return [];
    const broken = lineBreak.exec(bytes.toString('latin1', at, at + maxLineBreakBytes));
    const afterBreak = broken ? this.#endAt(bytes, at + broken[0].length) : undefined;
    return afterBreak === undefined ? [] : [afterBreak];
  }

  #endAt(bytes: Buffer, at: number): number | undefined {
    if (!this.#spellings) return bytes[at] === this.#code ? at + 1 : undefined;
    const match = this.#spellings.exec(bytes.toString('latin1', at, at + 16));
    return match ? at + match[0].length : undefined;
  }
}

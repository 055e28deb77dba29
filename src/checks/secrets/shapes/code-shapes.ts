import { ExactShape, type SecretRange, type SecretShape } from './shape.ts';

/** Separators between the numbers of a list of bytes: of a dump, of an array, of its JSON. */
const hexSeparators = [' ', ':', '-', ',', ', 0x', ',0x'];
const decimalSeparators = [',', ', '];
/** Longest separator: a line break and the indentation of the next line. */
const maxSeparatorBytes = 24;
/** Number of secret bytes that an anchor covers. */
const anchorCount = 3;
const none: readonly SecretRange[] = [];

/** The secret as numbers: each byte with separators between them, or five bits each in Base32. */
export function codeShapes(secret: string): SecretShape[] {
  const bytes = Buffer.from(secret);
  const hex = Array.from(bytes, (value) => value.toString(16).padStart(2, '0'));
  const upperHex = hex.map((digits) => digits.toUpperCase());
  const decimal = Array.from(bytes, String);
  const lists = [
    ...[hex, upperHex].flatMap((numbers) => hexSeparators.map((between) => ({ numbers, between, first: 0 }))),
    // These are printed in columns: if a line ends within one anchor, the other is whole.
    ...decimalSeparators.flatMap((between) =>
      [0, anchorCount].map((first) => ({ numbers: decimal, between, first })),
    ),
  ];
  const anchors = new Map<string, SecretShape>();
  for (const { numbers, between, first } of lists) {
    const anchor = numbers.slice(first, first + anchorCount).join(between);
    anchors.set(anchor, new NumbersShape(numbers, first, anchor));
  }
  // In pairs, as hexdump and xxd print them.
  for (const first of [0, 1]) {
    const [a, b, c, d] = hex.slice(first, first + 4);
    const anchor = `${a}${b} ${c}${d}`;
    anchors.set(anchor, new NumbersShape(hex, first, anchor));
  }
  return [...anchors.values(), ...base32Shapes(bytes)];
}

/** A sequence of numbers with separators that may vary. */
class NumbersShape implements SecretShape {
  readonly anchor: Buffer;
  readonly reachBackBytes: number;
  readonly reachForwardBytes: number;
  readonly #numbers: readonly string[];
  readonly #first: number;

  /** @param first index of the number at the start of the anchor. */
  constructor(numbers: readonly string[], first: number, anchor: string) {
    this.anchor = Buffer.from(anchor);
    this.#numbers = numbers;
    this.#first = first;
    this.reachBackBytes = first * (maxSeparatorBytes + 3);
    this.reachForwardBytes = numbers.length * (maxSeparatorBytes + 3);
  }

  rangesAt(bytes: Buffer, anchorStart: number): readonly SecretRange[] {
    let end = anchorStart;
    for (let index = this.#first; index < this.#numbers.length; index += 1) {
      if (index > this.#first) end = separatorEnd(bytes, end);
      const digits = this.#numbers[index] ?? '';
      if (!areDigits(bytes, end, digits)) return none;
      end += digits.length;
    }
    let start = anchorStart;
    for (let index = this.#first - 1; index >= 0; index -= 1) {
      const digits = this.#numbers[index] ?? '';
      start = separatorStart(bytes, start) - digits.length;
      if (start < 0 || !areDigits(bytes, start, digits)) return none;
    }
    return [{ start, end }];
  }
}

/** Compares hexadecimal digits, ignoring case. */
function areDigits(bytes: Buffer, at: number, digits: string): boolean {
  for (let index = 0; index < digits.length; index += 1) {
    if (((bytes[at + index] ?? 0) | 0x20) !== (digits.charCodeAt(index) | 0x20)) return false;
  }
  return true;
}

const separators: ReadonlySet<number> = new Set(Array.from(' \t\r\n,:;-', (one) => one.charCodeAt(0)));
const zero = 0x30;
const backslash = 0x5c;
const letterX = 0x78;
/** Letters of escaped line breaks and tabs. */
const controlLetters: ReadonlySet<number> = new Set(Array.from('nrt', (letter) => letter.charCodeAt(0)));

function separatorEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (at - from < maxSeparatorBytes - 1) {
    const byte = bytes[at] ?? 0;
    if (separators.has(byte)) at += 1;
    else if (isPrefix(byte, bytes[at + 1] ?? 0)) at += 2;
    else break;
  }
  return at;
}

function separatorStart(bytes: Buffer, from: number): number {
  let at = from;
  while (from - at < maxSeparatorBytes - 1) {
    if (separators.has(bytes[at - 1] ?? 0)) at -= 1;
    else if (isPrefix(bytes[at - 2] ?? 0, bytes[at - 1] ?? 0)) at -= 2;
    else break;
  }
  return at;
}

/** `0x` or `\x` before a number, or an escaped control character. */
function isPrefix(first: number, second: number): boolean {
  if (second === letterX) return first === zero || first === backslash;
  return first === backslash && controlLetters.has(second);
}

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The Base32 of a text that contains these bytes, for each offset within a group of five. */
function base32Shapes(bytes: Buffer): SecretShape[] {
  return [0, 1, 2, 3, 4].flatMap((offset) => {
    const inner = innerBase32(bytes, offset);
    return [inner, inner.toLowerCase()].map((text) => new ExactShape(Buffer.from(text)));
  });
}

/** The part of the Base32 of a text that depends on these bytes alone. */
function innerBase32(bytes: Buffer, offset: number): string {
  const bits = Array.from(Buffer.concat([Buffer.alloc(offset), bytes]), (value) =>
    value.toString(2).padStart(8, '0'),
  ).join('');
  const first = Math.ceil((offset * 8) / 5);
  const last = Math.floor(bits.length / 5);
  return Array.from({ length: last - first }, (_, index) => {
    const start = (first + index) * 5;
    return base32Alphabet.charAt(Number.parseInt(bits.slice(start, start + 5), 2));
  }).join('');
}

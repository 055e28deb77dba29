/**
 * A JSON number that no double represents exactly, such as 9007199254740993 or 1e400. It keeps its digits: compared as
 * a double it would equal its neighbours.
 */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The nearest double; Infinity above the largest. */
  get nearest(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  /** Serializes to a JSON number with all of its digits. */
  toJSON(): unknown {
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.text);
  }
}

export type JsonNumber = number | ExactNumber;

export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/** Returns the value of a JSON number: a double if that is exact, else an ExactNumber. */
export function jsonNumber(text: string): JsonNumber {
  return isDouble(text) ? Number(text) : new ExactNumber(text);
}

/** Returns a number below 0, 0 or above 0, as for `sort`; NaN if a side is NaN. */
export function compareNumbers(left: JsonNumber, right: JsonNumber): number {
  const [leftNearest, rightNearest] = [nearestOf(left), nearestOf(right)];
  // Rounding preserves order: different doubles decide.
  if (leftNearest !== rightNearest) return leftNearest - rightNearest;
  if (typeof left === 'number' && typeof right === 'number') return 0;
  return compareDecimals(decimalOf(String(left)), decimalOf(String(right)));
}

/** Numbers of up to 15 digits survive the conversion to a double and back. */
const maxSafeDigits = 15;

/** Whether the shortest text of the nearest double denotes exactly the same number. */
export function isDouble(text: string): boolean {
  if (text.length <= maxSafeDigits && !/e/i.test(text)) return true;
  const nearest = Number(text);
  if (Math.abs(nearest) < 1e21 && /^-?[1-9]\d*$/.test(text)) return String(nearest) === text;
  return Number.isFinite(nearest) && compareDecimals(decimalOf(text), decimalOf(String(nearest))) === 0;
}

function nearestOf(value: JsonNumber): number {
  return typeof value === 'number' ? value : value.nearest;
}

/** ± 0.digits × 10^exponent, without zeros at either end of the digits; zero has no digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text.trim()) ?? [];
  const all = whole + fraction;
  const firstAt = all.search(/[1-9]/);
  if (firstAt === -1) return { isNegative: false, digits: '', exponent: 0 };
  let endAt = all.length;
  while (all[endAt - 1] === '0') endAt -= 1;
  return {
    isNegative: sign === '-',
    digits: all.slice(firstAt, endAt),
    exponent: Number(power) + whole.length - firstAt,
  };
}

function compareDecimals(left: Decimal, right: Decimal): number {
  const [leftSign, rightSign] = [signOf(left), signOf(right)];
  if (leftSign !== rightSign) return leftSign - rightSign;
  if (left.exponent !== right.exponent) return left.exponent > right.exponent ? leftSign : -leftSign;
  if (left.digits === right.digits) return 0;
  return left.digits > right.digits ? leftSign : -leftSign;
}

function signOf({ isNegative, digits }: Decimal): number {
  return digits === '' ? 0 : isNegative ? -1 : 1;
}

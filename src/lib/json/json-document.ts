import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { ExactNumber, isDouble } from './exact-number.ts';

/** A JSON text has more values than fit into the memory of a thread. */
export class JsonTooLarge extends Error {
  constructor() {
    super(`it has more than ${maxValues} values, which exceeds the memory limit`);
    this.name = 'JsonTooLarge';
  }
}

/** An empty object takes 56 bytes of memory, its array slot 8, and its text 3. */
const bytesPerValue = 100;
const maxValues = Math.min(5_000_000, Math.floor(getHeapStatistics().heap_size_limit / bytesPerValue));
/** No shorter text can contain more values. */
const shortestLarge = 2 * maxValues;

/** A number whose digits or exponent may be too many for a double. */
const longNumber = /(?:^|[[,:\s])-?(?:\d[\d.]{15}|\d[\d.]*[eE])/;
const everyNumber = /-?\d[\d.]*(?:[eE][+-]?\d+)?/g;

/**
 * Parses a JSON text as `JSON.parse` does, at any nesting depth; numbers that no double represents become ExactNumbers.
 *
 * @throws SyntaxError, JsonTooLarge.
 */
export function parseJson(text: string): unknown {
  if (text.length >= shortestLarge && hasTooManyValues(text)) throw new JsonTooLarge();
  const document: unknown = JSON.parse(text);
  if (!longNumber.test(text)) return document;
  // A number inside a specially marked string keeps its digits through the parser.
  const mark = randomUUID();
  const marked = withMarkedNumbers(text, mark);
  return marked === text ? document : withExactNumbers(JSON.parse(marked), mark);
}

function hasTooManyValues(text: string): boolean {
  let valueCount = 1;
  for (let at = 0; at < text.length && valueCount <= maxValues; at++) {
    const character = text[at];
    if (character === '"') at = closingQuote(text, at + 1);
    else if (character === ',' || character === '[' || character === '{') valueCount++;
  }
  return valueCount > maxValues;
}

function withMarkedNumbers(text: string, mark: string): string {
  const parts: string[] = [];
  let keptTo = 0;
  for (let at = 0; at < text.length; ) {
    const quoteAt = text.indexOf('"', at);
    const endAt = quoteAt === -1 ? text.length : quoteAt;
    const between = text.slice(at, endAt);
    if (/\d/.test(between)) {
      const replaced = between.replaceAll(everyNumber, (number) =>
        isDouble(number) ? number : `"${mark}${number}"`,
      );
      if (replaced !== between) {
        parts.push(text.slice(keptTo, at), replaced);
        keptTo = endAt;
      }
    }
    at = quoteAt === -1 ? text.length : closingQuote(text, quoteAt + 1) + 1;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(keptTo);
}

/** Returns the position of the closing quote of the string that began before `from`. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text[before - 1] === '\\') before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return text.length;
}

/** Converts the marked strings of the document to numbers, in place. */
function withExactNumbers(document: unknown, mark: string): unknown {
  const root = { document };
  const open: object[] = [root];
  for (let container = open.pop(); container; container = open.pop()) {
    const members = container as Record<string, unknown>;
    for (const key of Object.keys(members)) {
      const value = members[key];
      if (typeof value === 'object' && value !== null) open.push(value);
      else if (typeof value === 'string' && value.startsWith(mark)) {
        members[key] = new ExactNumber(value.slice(mark.length));
      }
    }
  }
  return root.document;
}

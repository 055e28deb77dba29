const lineBreak = String.raw`(?:(?:\r\n?|\n)[ \t]{0,16}|\\{1,7}r\\{1,7}n|\\{1,7}n)`;
const lineBreaks = new RegExp(lineBreak, 'g');
/**
 * A full line of Base64 next to a truncation, and the truncated line; lines in mails and keys are no longer than this.
 */
const minLineLength = 16;
const maxLineLength = 128;
const letters = '[A-Za-z0-9+/_-]';
const wrappedBefore = new RegExp(`${letters}{${minLineLength}}${lineBreak}${letters}{0,${maxLineLength}}$`);
const wrappedAfter = new RegExp(`^${letters}{0,${maxLineLength}}${lineBreak}${letters}{4}`);
const maxLookBytes = minLineLength + maxLineLength + 32;
/** Limit of the bytes that are examined. */
const maxWrappedBytes = 64 * 1024;

/** Bytes without their line breaks. */
export interface Unwrapped {
  readonly bytes: Buffer;
  /** Original position of a byte. */
  readonly placeOf: (at: number) => number;
}

/** The bytes before a position without line breaks, if they are wrapped Base64. */
export function unwrappedBefore(bytes: Buffer, end: number): Unwrapped | undefined {
  if (!wrappedBefore.test(bytes.toString('latin1', Math.max(0, end - maxLookBytes), end))) return undefined;
  return unwrapped(bytes, Math.max(0, end - maxWrappedBytes), end);
}

/** The bytes after a position without line breaks, if they are wrapped Base64. */
export function unwrappedAfter(bytes: Buffer, start: number): Unwrapped | undefined {
  if (!wrappedAfter.test(bytes.toString('latin1', start, start + maxLookBytes))) return undefined;
  return unwrapped(bytes, start, Math.min(bytes.length, start + maxWrappedBytes));
}

function unwrapped(bytes: Buffer, from: number, to: number): Unwrapped {
  const kept: Buffer[] = [];
  /** Start of each part in the original, and the length of the text before it. */
  const parts: { readonly original: number; readonly start: number }[] = [];
  let at = from;
  let length = 0;
  const keep = (end: number) => {
    kept.push(bytes.subarray(at, end));
    parts.push({ original: at, start: length });
    length += end - at;
  };
  for (const { 0: found, index } of bytes.toString('latin1', from, to).matchAll(lineBreaks)) {
    keep(from + index);
    at = from + index + found.length;
  }
  keep(to);
  const placeOf = (place: number) => {
    const part = parts.findLast(({ start }) => start <= place);
    return (part?.original ?? from) + place - (part?.start ?? 0);
  };
  return { bytes: Buffer.concat(kept), placeOf };
}

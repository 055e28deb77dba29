/** One labelled line of an alert. */
export interface Fact {
  readonly label: string;
  readonly value: string;
}

const lineBreaks = /\r\n?|[\u2028\u2029]/g;
/** Control characters other than tab and line feed, and characters that change the text direction. */
const unseen = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Returns a text that any receiver accepts: without control characters and lone surrogates. */
export function plainText(text: string): string {
  return text.replaceAll(lineBreaks, '\n').replaceAll(unseen, '').toWellFormed();
}

/** Does the same and joins the lines into one. */
export function oneLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, ' ').trim();
}

/** Truncates a text to at most `maxLength` UTF-16 units and marks the cut. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // Does not split a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text.charAt(maxLength - 2)) ? maxLength - 2 : maxLength - 1;
  return maxLength < 1 ? '' : `${text.slice(0, end)}…`;
}

/** Does the same for receivers that count UTF-8 bytes. */
export function cutBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Buffer.byteLength(cut(text, middle)) <= maxBytes) low = middle;
    else high = middle - 1;
  }
  return cut(text, low);
}

/**
 * Returns as many facts as a receiver accepts: each value truncated, and facts beyond the total length dropped. Lengths
 * count the output of `written`, such as an escaped form.
 */
export function boundedFacts(
  facts: readonly Fact[],
  { valueLength, totalLength }: { readonly valueLength: number; readonly totalLength: number },
  written: (text: string) => string = (text) => text,
): Fact[] {
  let left = totalLength;
  return facts.flatMap(({ label, value }) => {
    const room = Math.min(valueLength, left - written(label).length - 4);
    if (room < 20) return [];
    const fitted = cutWritten(value, room, written);
    left -= written(label).length + fitted.length + 4;
    return [{ label, value: fitted }];
  });
}

/** Truncates a text so that the output of `written` is at most `maxLength` long, and returns that output. */
export function cutWritten(text: string, maxLength: number, written: (text: string) => string): string {
  let [low, high] = [0, Math.min(text.length, maxLength)];
  if (written(text).length <= maxLength) return written(text);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (written(cut(text, middle)).length <= maxLength) low = middle;
    else high = middle - 1;
  }
  return written(cut(text, low));
}

/** Formats facts as lines of plain text. */
export function textOf(facts: readonly Fact[]): string {
  return facts.map(({ label, value }) => `${label}: ${value}`).join('\n');
}

/** Escapes all punctuation with backslashes, so that Markdown shows the text literally. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}

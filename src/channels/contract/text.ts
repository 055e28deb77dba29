/** One line of what people want to know. */
export interface Fact {
  readonly label: string;
  readonly value: string;
}

const lineBreaks = /\r\n?|[\u2028\u2029]/g;
/** All control characters but tab and line feed, and what turns the direction of a text round. */
const unseen = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** A text that any receiver can take: no control characters, no half characters. */
export function plainText(text: string): string {
  return text.replaceAll(lineBreaks, '\n').replaceAll(unseen, '').toWellFormed();
}

/** The same in one line. */
export function oneLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, ' ').trim();
}

/** The beginning of a text, marked where its end is missing; at most `maxLength` UTF-16 units. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // Never between the halves of one character.
  const end = /[\ud800-\udbff]/.test(text.charAt(maxLength - 2)) ? maxLength - 2 : maxLength - 1;
  return maxLength < 1 ? '' : `${text.slice(0, end)}…`;
}

/** The same for receivers that count the bytes of UTF-8. */
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
 * As much of facts as a receiver takes: each value cut, and none that no longer has room. Lengths count what
 * `written` makes of a value, such as its escaped form.
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

/** What `written` makes of the longest beginning of a text whose written form is at most so long. */
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

/** Facts as lines of plain text. */
export function textOf(facts: readonly Fact[]): string {
  return facts.map(({ label, value }) => `${label}: ${value}`).join('\n');
}

/** A text that Markdown shows as it is: every character that could mean something has a backslash. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}

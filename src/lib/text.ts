/**
 * Stands where a part of a text is missing. Who looks for secrets knows by it that one may be there in part.
 */
const mark = '…';

/** The beginning of a text, marked where its end is missing; at most `maxLength` characters. */
export function beginningOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}${mark}` : text;
}

/** The end of a text, marked where its beginning is missing; at most `maxLength` characters. */
export function endingOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${mark}${text.slice(1 - maxLength)}` : text;
}

/**
 * Whether a text fits a pattern in which `*` stands for any characters, or none. Matches piece by piece
 * instead of by a regular expression, which a pattern of many stars would make slow.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return text === pattern;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) {
    return false;
  }
  let position = first.length;
  const end = text.length - last.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, position);
    if (found < 0 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return true;
}

/**
 * An address with `***` for the password before its host. A password may hold an `@` as it is, as URL parsers take it:
 * the last one before the path is the one before the host.
 */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w[\w+.-]*:\/\/[^\s/?#:@]*):[^\s/?#]*@/, '$1:***@');
}

/** Whether a text holds a template, such as `{{HOST}}`. */
export function hasTemplate(text: string): boolean {
  return text.includes('{{');
}

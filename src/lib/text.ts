/** Marks a missing part of a text. The search for secrets treats it as a place where one may be cut off. */
const mark = '…';

/** Returns the beginning of a text, at most `maxLength` characters, with a mark if its end is missing. */
export function beginningOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}${mark}` : text;
}

/** Returns the end of a text, at most `maxLength` characters, with a mark if its beginning is missing. */
export function endingOf(text: string, maxLength: number): string {
  return text.length > maxLength ? `${mark}${text.slice(1 - maxLength)}` : text;
}

/**
 * Whether a text fits a pattern in which `*` matches any characters, or none. Compares piece by piece, since a regular
 * expression would be slow for a pattern of many stars.
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
 * Returns an address with `***` for the password before its host. A password may contain a literal `@`, as URL parsers
 * accept it: the last one before the path precedes the host.
 */
export function withoutPassword(address: string): string {
  return address.replace(/^(\w[\w+.-]*:\/\/[^\s/?#:@]*):[^\s/?#]*@/, '$1:***@');
}

/** Whether a text holds a template, such as `{{HOST}}`. */
export function hasTemplate(text: string): boolean {
  return text.includes('{{');
}

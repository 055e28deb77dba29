/** What decodes one byte as one character, and is often taken for UTF-8 or the other way round. */
const windows = new TextDecoder('windows-1252');

/**
 * What becomes of a text beyond ASCII when its UTF-8 is read as Latin-1, or as Windows-1252, and written as
 * UTF-8 again: `Ã¶` for `ö`. Nothing for texts in ASCII.
 */
export function misread(text: string): string[] {
  if (!/[^\0-\x7f]/.test(text)) return [];
  const bytes = Buffer.from(text);
  return [...new Set([bytes.toString('latin1'), windows.decode(bytes)])];
}

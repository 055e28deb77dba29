const letters: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The text of an escaped one. */
export const plainText = (text: string) =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (one) => letters[one] ?? one);

/** The fields that a browser would send for a page's form; several of one name are its lines. */
export function formOf(body: string): Record<string, string> {
  const form = /<form class="form editor"[\s\S]*?<\/form>/.exec(body)?.[0] ?? '';
  const fields: Record<string, string> = {};
  for (const [, attributes = ''] of form.matchAll(/<input ([^>]*)>/g)) {
    const name = /name="([^"]*)"/.exec(attributes)?.[1] ?? '';
    if (name === '' || (/type="checkbox"/.test(attributes) && !/ checked/.test(attributes))) continue;
    const value = plainText(/value="([^"]*)"/.exec(attributes)?.[1] ?? '');
    fields[name] = name in fields ? `${fields[name]}\r\n${value}` : value;
  }
  for (const [, name = '', options = ''] of form.matchAll(
    /<select [^>]*name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g,
  )) {
    const [, chosen = ''] = /value="([^"]*)" selected/.exec(options) ?? /value="([^"]*)"/.exec(options) ?? [];
    fields[name] = plainText(chosen);
  }
  for (const [, name = '', text = ''] of form.matchAll(
    /<textarea [^>]*name="([^"]*)"[^>]*>\n([\s\S]*?)<\/textarea>/g,
  )) {
    fields[name] = plainText(text).replaceAll('\n', '\r\n');
  }
  return fields;
}

/** Values of the variables in an address, by name. */
export type AddressValues = Readonly<Record<string, string>>;

/** `{{NAME}}` or `{{{NAME}}}`; any other content between braces is a program. */
const placeholder = /\{\{\{\s*([A-Za-z_$][\w$]*)\s*\}\}\}|\{\{\s*([A-Za-z_$][\w$]*)\s*\}\}/g;
/** An address up to the path: scheme, host and port, including templates. */
const upToPath = /^(?:(?:\{\{[^}]*\}{2,3}|[^\\/?#])*:[\\/]{2})?(?:\{\{[^}]*\}{2,3}|[^\\/?#])*/;

/**
 * Returns scheme, host and port of an address with its variables filled in; any other text or value unchanged. Two
 * addresses with the same result lead to the same place: if a template before the path is more than a name, such as a
 * condition, every variable that it may read is part of the result.
 */
export function originOf(value: unknown, values: AddressValues): string {
  if (value === undefined || value === null || value === false) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = value.trim();
  const [address = ''] = upToPath.exec(text) ?? [];
  if (address.replaceAll(placeholder, '').includes('{{')) return `${text} ${seenBy(text, values)}`;
  const filled = text.replaceAll(placeholder, (whole, raw?: string, encoded?: string) => {
    const name = raw ?? encoded ?? '';
    // Variables that only an agent knows stay unchanged.
    return Object.hasOwn(values, name) ? (values[name] ?? '') : whole;
  });
  const [start = '', authority = ''] = /^[a-z][a-z\d+.-]*:[\\/]{2}([^\\/?#]*)/i.exec(filled) ?? [];
  if (start === '') return filled.toLowerCase();
  const url = authority.includes('{{') ? null : URL.parse(filled);
  return url ? `${url.protocol}//${url.host}` : start.toLowerCase();
}

/** Returns the variables that a template may read, as text. */
function seenBy(text: string, values: AddressValues): string {
  // These find variables without naming them.
  const seesAll = /\b(?:each|lookup|this|with)\b|@|\.\./.test(text);
  return JSON.stringify(Object.entries(values).filter(([name]) => seesAll || text.includes(name)));
}

/** What the variables in an address stand for, by name. */
export type AddressValues = Readonly<Record<string, string>>;

/** `{{NAME}}` or `{{{NAME}}}`; anything else between braces is a program. */
const placeholder = /\{\{\{\s*([A-Za-z_$][\w$]*)\s*\}\}\}|\{\{\s*([A-Za-z_$][\w$]*)\s*\}\}/g;
/** An address up to the path: scheme, host and port, templates and all. */
const upToPath = /^(?:(?:\{\{[^}]*\}{2,3}|[^\\/?#])*:[\\/]{2})?(?:\{\{[^}]*\}{2,3}|[^\\/?#])*/;

/**
 * Scheme, host and port of an address as its variables stand; any other text or value as it is. Two addresses
 * with the same one lead to the same place: of what is more than names before the path, such as a condition, every
 * variable counts that it may look at.
 */
export function originOf(value: unknown, values: AddressValues): string {
  if (value === undefined || value === null || value === false) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = value.trim();
  const [address = ''] = upToPath.exec(text) ?? [];
  if (address.replaceAll(placeholder, '').includes('{{')) return `${text} ${seenBy(text, values)}`;
  const filled = text.replaceAll(placeholder, (whole, raw?: string, encoded?: string) => {
    const name = raw ?? encoded ?? '';
    // What only an agent knows stays as it is written.
    return Object.hasOwn(values, name) ? (values[name] ?? '') : whole;
  });
  const [start = '', authority = ''] = /^[a-z][a-z\d+.-]*:[\\/]{2}([^\\/?#]*)/i.exec(filled) ?? [];
  if (start === '') return filled.toLowerCase();
  const url = authority.includes('{{') ? null : URL.parse(filled);
  return url ? `${url.protocol}//${url.host}` : start.toLowerCase();
}

/** The variables that a template may look at, as text. */
function seenBy(text: string, values: AddressValues): string {
  // These find variables without their names.
  const seesAll = /\b(?:each|lookup|this|with)\b|@|\.\./.test(text);
  return JSON.stringify(Object.entries(values).filter(([name]) => seesAll || text.includes(name)));
}

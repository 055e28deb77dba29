/** Reads values of any shape: what is not there, or is something else, is null or empty. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The texts among the values of an object, their names in lower case. */
export function textsOf(value: unknown): ReadonlyMap<string, string> {
  const entries = Object.entries(fieldsOf(value)).flatMap(([name, one]) => {
    const text = textOf(one);
    return text === null ? [] : [[name.toLowerCase(), text] as const];
  });
  return new Map(entries);
}

/** The numbers among them. */
export function numbersOf(value: unknown): ReadonlyMap<string, number> {
  const entries = Object.entries(fieldsOf(value)).flatMap(([name, one]) => {
    const number = numberOf(one);
    return number === null ? [] : [[name, number] as const];
  });
  return new Map(entries);
}

const maxQuoted = 120;

/** A value as words quote it: in one line, cut where it is long. */
export function quoted(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).replaceAll(
    /\s+/g,
    ' ',
  );
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted).toWellFormed()}…` : text;
}

/** Reads values of any shape: missing values and values of another type become null or empty. */

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

/** String values of an object, with names in lower case. */
export function textsOf(value: unknown): ReadonlyMap<string, string> {
  const entries = Object.entries(fieldsOf(value)).flatMap(([name, one]) => {
    const text = textOf(one);
    return text === null ? [] : [[name.toLowerCase(), text] as const];
  });
  return new Map(entries);
}

/** Number values of an object, likewise. */
export function numbersOf(value: unknown): ReadonlyMap<string, number> {
  const entries = Object.entries(fieldsOf(value)).flatMap(([name, one]) => {
    const number = numberOf(one);
    return number === null ? [] : [[name, number] as const];
  });
  return new Map(entries);
}

const maxQuoted = 120;

/** A value as texts quote it: in one line, cut if long. */
export function quoted(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')).replaceAll(
    /\s+/g,
    ' ',
  );
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted).toWellFormed()}…` : text;
}

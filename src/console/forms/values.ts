import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '@picket/lib/json/record.ts';
import { type Field, hasObject, objectWord } from './field.ts';

type Entry = Readonly<Record<string, unknown>>;

/** More rows are unusable as a form. */
const mostRows = 500;

/** Returns the input values for an object, by input name. */
export function valuesOf(
  fields: readonly Field[],
  object: unknown,
  prefix = '',
  values = new URLSearchParams(),
): URLSearchParams {
  const entry = isRecord(object) ? object : {};
  for (const field of fields) put(field, entry[field.key], `${prefix}${field.key}`, values);
  return values;
}

function put(field: Field, value: unknown, name: string, values: URLSearchParams): void {
  switch (field.kind) {
    case 'switch':
      if (value === true) values.set(name, 'true');
      return;
    case 'set':
    case 'list':
      for (const one of listOf(value)) values.append(name, String(one));
      return;
    case 'choice':
      values.set(name, scalarText(Array.isArray(value) ? value[0] : value));
      return;
    case 'rows':
      for (const [index, row] of listOf(value).entries()) {
        valuesOf(field.fields, row, `${name}.${index}.`, values);
      }
      return;
    case 'part':
      valuesOf(field.fields, value, `${name}.`, values);
      return;
    case 'variant':
      if (!isRecord(value)) values.set(name, scalarText(value));
      else values.set(name, field.pick ? scalarText(value[field.pick.key]) : objectWord);
      // A user who selects the object starts with its defaults.
      valuesOf(field.fields, isRecord(value) ? value : initialOf(field.fields), `${name}.`, values);
      return;
    case 'json':
      values.set(name, value === undefined ? '' : JSON.stringify(value, null, 2));
      return;
    case 'fixed':
      return;
    default:
      values.set(name, scalarText(value));
  }
}

function initialOf(fields: readonly Field[]): Entry {
  return Object.fromEntries(fields.map(({ key, initial }) => [key, initial]));
}

/**
 * Builds the object of a form. Invalid values are kept as typed, for the schema to refuse. An untouched part equals the
 * stored one.
 *
 * @param stored the basis of the form; undefined for a new object.
 */
export function objectOf(
  fields: readonly Field[],
  form: URLSearchParams,
  stored?: unknown,
  prefix = '',
): Record<string, unknown> {
  const before = isRecord(stored) ? stored : {};
  const entries = fields.flatMap((field): [string, unknown][] => {
    const value = read(field, form, before[field.key], `${prefix}${field.key}`);
    return value === undefined ? [] : [[field.key, value]];
  });
  return Object.fromEntries(entries);
}

function read(field: Field, form: URLSearchParams, stored: unknown, name: string): unknown {
  if (field.kind === 'fixed' || isUntouched(field, form, stored, name)) return stored;
  const text = plain(form.get(name) ?? '');
  switch (field.kind) {
    case 'switch':
      return text === 'true';
    case 'set':
      return linesOf(form, name);
    case 'list':
      return linesOf(form, name).map((line) => (field.isOfNumbers ? numberOf(line) : line));
    case 'choice':
      if (text === '') return nothingOf(field);
      return field.options.find((option) => String(option) === text) ?? text;
    case 'rows': {
      const rows = rowsOf(field.fields, form, stored, name);
      return rows.length === 0 ? stored && [] : rows;
    }
    case 'part':
      return objectOf(field.fields, form, stored, `${name}.`);
    case 'variant':
      if (hasObject(field, text)) {
        const object = objectOf(field.fields, form, isRecord(stored) ? stored : {}, `${name}.`);
        return field.pick ? { ...object, [field.pick.key]: text } : object;
      }
      return text === '' ? nothingOf(field) : text;
    case 'number':
      if (text.trim() === '') return nothingOf(field);
      return numberOf(text);
    case 'json':
      return text.trim() === '' ? nothingOf(field) : parsed(text);
    default:
      if (text !== '') return text;
      // An empty input is sent as null or omitted if that is meaningful; otherwise it is an empty text.
      return mayBeAbsent(field) || (field.isNullable && field.hasDefault) ? nothingOf(field) : '';
  }
}

/** A required field gets null, which the schema refuses: if omitted, the stored value would stay. */
function nothingOf(field: Field): null | undefined {
  return mayBeAbsent(field) && !field.isNullable ? undefined : null;
}

function mayBeAbsent({ isOptional, hasDefault, isDefaultWhenEmpty }: Field): boolean {
  return isOptional || (hasDefault && isDefaultWhenEmpty === true);
}

function numberOf(text: string): number | string {
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // The schema refuses invalid JSON as a text.
  }
}

function rowsOf(fields: readonly Field[], form: URLSearchParams, stored: unknown, name: string): unknown[] {
  const before = listOf(stored);
  return Array.from({ length: rowCount(name, form) }, (_, index) => `${name}.${index}.`).flatMap(
    (prefix, index) =>
      isEmptyRow(fields, form, prefix) ? [] : [objectOf(fields, form, before[index], prefix)],
  );
}

/** Rows without any input are ignored; a choice in a row always counts as input. */
function isEmptyRow(fields: readonly Field[], form: URLSearchParams, prefix: string): boolean {
  return (
    !fields.some(({ kind }) => kind === 'choice') &&
    fields.every((field) => (form.get(`${prefix}${field.key}`) ?? '') === '' || field.kind === 'switch')
  );
}

/** Returns the number of rows up to the last one in a form. */
export function rowCount(name: string, form: URLSearchParams): number {
  const start = `${name}.`;
  let count = 0;
  for (const key of form.keys()) {
    if (!key.startsWith(start)) continue;
    const index = Number.parseInt(key.slice(start.length), 10);
    if (index >= count && index < mostRows) count = index + 1;
  }
  return count;
}

/** Whether the inputs of a field are unchanged since they were shown. */
function isUntouched(field: Field, form: URLSearchParams, stored: unknown, name: string): boolean {
  if (stored === undefined) return false;
  const shown = new URLSearchParams();
  put(field, stored, name, shown);
  return isSame(field, shown, form, name);
}

/** Whether the inputs of a field have its default. */
export function isInitial(field: Field, form: URLSearchParams, name: string): boolean {
  const shown = new URLSearchParams();
  put(field, field.initial, name, shown);
  return isSame(field, shown, form, name);
}

function isSame(field: Field, shown: URLSearchParams, form: URLSearchParams, name: string): boolean {
  const areSame = (fields: readonly Field[], prefix: string) =>
    fields.every((one) => isSame(one, shown, form, `${prefix}${one.key}`));
  const isTextSame = plain(form.get(name) ?? '') === plain(shown.get(name) ?? '');
  switch (field.kind) {
    case 'fixed':
      return true;
    case 'set':
    case 'list':
      // Checkboxes are sent in the order of the form.
      return isDeepStrictEqual(linesOf(form, name).sort(), linesOf(shown, name).sort());
    case 'part':
      return areSame(field.fields, `${name}.`);
    case 'variant':
      return isTextSame && (!hasObject(field, shown.get(name) ?? '') || areSame(field.fields, `${name}.`));
    case 'rows': {
      const count = Math.max(rowCount(name, shown), rowCount(name, form));
      return Array.from({ length: count }).every((_, index) => areSame(field.fields, `${name}.${index}.`));
    }
    default:
      return isTextSame;
  }
}

/** Returns the items of a list: lines of a text, or checkboxes. */
export function linesOf(form: URLSearchParams, name: string): string[] {
  return form.getAll(name).flatMap((text) =>
    plain(text)
      .split('\n')
      .flatMap((line) => line.trim() || []),
  );
}

/** Normalizes line ends, which browsers send as CR and LF. */
function plain(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

function scalarText(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

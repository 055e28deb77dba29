import { ManagedFields } from '@picket/protocol/http/managed-fields.ts';
import { z } from 'zod';
import { counted, instant, shortened } from '../elements/format.ts';
import { block, visible } from '../elements/text.ts';
import type { Words } from '../forms/view.ts';
import { type Content, html } from '../html.ts';
import type { Shown } from './appearance.ts';
import { inputOf, type Table } from './tables.ts';

/** Texts that may be longer get a multi-line input. */
const oneLineLetters = 4_096;
const listedLetters = 80;

/** Returns the schema inside its wrappers. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema;
  while (
    inner instanceof z.ZodNullable ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  )
    inner = inner.unwrap();
  return inner;
}

function isLongText(schema: z.core.$ZodType): boolean {
  const inner = bare(schema);
  return inner instanceof z.ZodString && (inner.maxLength ?? 0) > oneLineLetters;
}

/** Returns the words of a resource's form: from its schema, its appearance, and the account's data. */
export function wordsOf(table: Table, more: Words = {}): Words {
  const { shape } = inputOf(table);
  const names = [...new Set([...Object.keys(shape), ...Object.keys({ ...table.appearance.words, ...more })])];
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        ...(shape[name] && isLongText(shape[name]) ? { lines: 8 } : {}),
        ...table.appearance.words?.[name],
        ...more[name],
      },
    ]),
  );
}

/** Returns the fields in the list of a resource: short values, in the order of the schema. */
export function listedFields(table: Table): string[] {
  const { api, appearance } = table;
  const { shape } = inputOf(table);
  const left = new Set([
    ...(appearance.unlisted ?? []),
    'created_at',
    ...Object.keys(ManagedFields),
    // Users identify it by its name or its key.
    'id',
  ]);
  return Object.entries(api.shown.shape).flatMap(([name, schema]) => {
    const isCell = appearance.cells?.[name] !== undefined;
    const isObject = bare(schema)._zod.def.type === 'object';
    const isLong = isLongText(shape[name] ?? schema);
    return left.has(name) || (!isCell && (isObject || isLong)) ? [] : [name];
  });
}

/** Formats a value of a resource; shortened in a list. */
export function shownValue(
  { appearance, api }: Table,
  one: Shown,
  { name, now, isShort }: { readonly name: string; readonly now: number; readonly isShort: boolean },
): Content {
  const own = appearance.cells?.[name]?.(one, now);
  if (own !== undefined) return own;
  const value = one[name];
  if (value === null || value === undefined || value === '') return isShort ? '–' : undefined;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const schema = api.shown.shape[name];
  if (typeof value === 'string') {
    const isInstant = schema !== undefined && bare(schema) instanceof z.ZodISODateTime;
    if (isInstant) return instant(value);
    if (isShort) return visible(shortened(value, listedLetters));
    return value.includes('\n') ? block(name, value) : visible(value);
  }
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    if (isShort && value.length > 4) return counted(value.length, 'entry', 'entries');
    return value.map((item) => html`<span class="tag">${visible(String(item))}</span> `);
  }
  return typeof value === 'object' ? block(name, JSON.stringify(value, null, 2)) : String(value);
}

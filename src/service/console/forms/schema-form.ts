import { z } from 'zod';
import {
  boxes,
  type Choice,
  checkbox,
  type FieldOptions,
  selectField,
  textArea,
  textField,
} from '../elements/form.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Problems } from './problems.ts';

/** What a schema does not know about a field, by its dotted path. */
export interface FieldWords {
  readonly label?: string;
  readonly hint?: Content;
  /** Lines of a text that has several. */
  readonly rows?: number;
  /** A text that is code: its lines have numbers. */
  readonly isCode?: boolean;
  /** Its value is never shown again: left empty, the stored one stays. */
  readonly isSecret?: boolean;
  /** Not in the form. */
  readonly isLeftOut?: boolean;
  /** What its value is chosen from: one of them, or any for a list. */
  readonly choices?: readonly Choice[];
  /** The kind of input of a text, where browsers have a better one. */
  readonly type?: FieldOptions['type'];
  /** What browsers suggest while somebody writes. */
  readonly suggestions?: readonly string[];
  /** What the box says that an object, which may be absent, is there. */
  readonly boxLabel?: string;
}
export type Words = Readonly<Record<string, FieldWords>>;

export interface FormState {
  /** What the fields hold: what is stored, or what was sent and refused. */
  readonly values: URLSearchParams;
  readonly problems?: Problems | undefined;
  readonly words: Words;
  /** Stands before the name of every field. */
  readonly prefix?: string;
  /** Whether there is something stored that secrets left empty keep. */
  readonly isStored?: boolean;
}

/** Empty rows at the end of a list of pairs: without scripts nothing can add one. */
const spareRows = 2;

interface Field {
  readonly path: string;
  readonly schema: z.core.$ZodType;
  readonly isNullable: boolean;
  readonly isOptional: boolean;
  readonly description: string | undefined;
}

/** The fields of a schema, one below the other, each with its value and what is wrong with it. */
export function schemaFields(schema: z.ZodObject, state: FormState): Html {
  return html`${fieldsOf(schema, state).map((field) => fieldOf(field, state))}`;
}

function fieldsOf(schema: z.ZodObject, { prefix = '', words }: Pick<FormState, 'prefix' | 'words'>): Field[] {
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`;
    return words[path]?.isLeftOut ? [] : [{ path, ...unwrapped(inner) }];
  });
}

function hasDefault(schema: z.core.$ZodType): schema is z.ZodDefault | z.ZodPrefault {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
}

/** The schema of a value itself, and what its wrappers say. */
function unwrapped(schema: z.core.$ZodType): Omit<Field, 'path'> {
  let inner = schema;
  let [isNullable, isOptional] = [false, false];
  let description: string | undefined;
  for (;;) {
    description ??= z.globalRegistry.get(inner)?.description;
    if (inner instanceof z.ZodNullable) isNullable = true;
    else if (hasDefault(inner) || inner instanceof z.ZodOptional) isOptional = true;
    else return { schema: inner, isNullable, isOptional, description };
    inner = inner.unwrap();
  }
}

function fieldOf(field: Field, state: FormState): Html {
  const { path, schema, description } = field;
  const { values, problems, words } = state;
  const own = words[path] ?? {};
  const label = own.label ?? labelOf(path);
  const isKept = own.isSecret === true && state.isStored === true;
  const hint = own.hint ?? (isKept ? 'Left empty, the present one stays.' : description);
  const value = own.isSecret ? '' : (values.get(path) ?? '');
  const error = problems?.fields.get(path);
  const common = { name: path, label, hint, error, value };
  const choices = own.choices ?? choicesOf(schema);
  if (choices && schema._zod.def.type === 'array') {
    return boxes({
      ...common,
      error: error ?? errorOfItem(path, problems),
      choices,
      chosen: linesOf(path, values),
    });
  }
  if (choices) {
    const none = field.isNullable ? [{ value: '', word: 'None' }] : [];
    return selectField({ ...common, choices: [...none, ...choices] });
  }
  switch (schema._zod.def.type) {
    case 'boolean':
      return checkbox({ name: path, label, isChecked: value === 'true', hint, error });
    case 'object':
      return group(field, label, state);
    case 'array':
      return isOfPairs(schema) ? pairs(field, label, state) : lines(common, problems);
    case 'number':
      return textField({ ...common, type: 'number', isRequired: !field.isOptional && !field.isNullable });
  }
  if (own.rows) return textArea({ ...common, rows: own.rows, isCode: own.isCode === true });
  return textField({
    ...common,
    type: own.isSecret ? 'password' : (own.type ?? 'text'),
    ...(own.isSecret ? { autocomplete: 'off' } : {}),
    ...(own.suggestions ? { suggestions: own.suggestions } : {}),
    isRequired: !field.isOptional && !field.isNullable && !isKept,
  });
}

/** What a schema itself allows no more than a few of. */
function choicesOf(schema: z.core.$ZodType): Choice[] | undefined {
  const values =
    schema instanceof z.ZodEnum
      ? schema.options
      : schema instanceof z.ZodLiteral
        ? [...schema.values]
        : schema instanceof z.ZodArray
          ? choicesOf(schema.element)?.map(({ value }) => value)
          : undefined;
  return values?.map((value) => ({ value: String(value), word: String(value) }));
}

/** The fields of an object; one that may be absent has a box that says whether it is there. */
function group({ path, schema, isNullable, description }: Field, label: string, state: FormState): Html {
  const { values, problems, words } = state;
  const error = problems?.fields.get(path);
  const isThere = values.has(path)
    ? values.get(path) === 'true'
    : isNullable && problems === undefined && [...values.keys()].some((name) => name.startsWith(`${path}.`));
  return html`<fieldset class="group"><legend>${label}</legend>${
    description === undefined ? '' : html`<p class="hint">${description}</p>`
  }${error === undefined ? '' : html`<p class="error">${error}</p>`}${
    isNullable ? checkbox({ name: path, label: words[path]?.boxLabel ?? 'Use it', isChecked: isThere }) : ''
  }${schemaFields(schema as z.ZodObject, { ...state, prefix: `${path}.` })}</fieldset>`;
}

function errorOfItem(path: string, problems: Problems | undefined): string | undefined {
  return [...(problems?.fields ?? [])].find(([of]) => of.startsWith(`${path}.`))?.[1];
}

function lines(common: Parameters<typeof textArea>[0], problems: Problems | undefined): Html {
  return textArea({
    ...common,
    rows: 3,
    hint: common.hint ?? 'One in a line.',
    error: common.error ?? errorOfItem(common.name, problems),
  });
}

function isOfPairs(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodArray && schema.element instanceof z.ZodObject;
}

/** Keys with values and, where the schema has it, whether the value is locked. */
function pairs({ path, description, schema }: Field, label: string, { values, problems }: FormState): Html {
  const count = rowCount(path, values);
  const hasLock = 'locked' in ((schema as z.ZodArray<z.ZodObject>).element.shape as object);
  const row = (index: number) => {
    const name = (part: string) => `${path}.${index}.${part}`;
    const errors = ['key', 'value', 'locked'].flatMap((part) => problems?.fields.get(name(part)) ?? []);
    const input = (part: string) =>
      html`<input name="${name(part)}" value="${values.get(name(part)) ?? ''}" aria-label="${label}, ${part} ${index + 1}" placeholder="${part}">`;
    return html`<li>${input('key')}${input('value')}${
      hasLock
        ? html`<label><input type="checkbox" name="${name('locked')}" value="true"${values.get(name('locked')) === 'true' ? html` checked` : ''}> locked</label>`
        : ''
    }${errors.map((error) => html`<p class="error">${error}</p>`)}</li>`;
  };
  const hint = `${description === undefined ? '' : `${description}. `}Rows left empty are ignored. Values that are locked are never shown again.`;
  return html`<fieldset class="pairs"><legend>${label}</legend><ul>${Array.from({ length: count + spareRows }, (_, index) => row(index))}</ul><p class="hint">${hint}</p></fieldset>`;
}

/** Rows up to the last one that a form or an object holds. */
function rowCount(path: string, values: URLSearchParams): number {
  const start = `${path}.`;
  const indexes = [...values].flatMap(([name, value]) => {
    if (!name.startsWith(start) || value === '') return [];
    const index = Number.parseInt(name.slice(start.length), 10);
    return Number.isSafeInteger(index) && index >= 0 && index < 100 ? [index] : [];
  });
  return Math.max(0, ...indexes.map((index) => index + 1));
}

/** The object that a form describes. What is no value of its field is left for the schema to refuse. */
export function objectOf(
  schema: z.ZodObject,
  form: URLSearchParams,
  state: Pick<FormState, 'words' | 'prefix' | 'isStored'>,
): Record<string, unknown> {
  const { prefix = '' } = state;
  const entries = fieldsOf(schema, state).flatMap((field): [string, unknown][] => {
    const value = fieldValue(field, form, state);
    return value === undefined ? [] : [[field.path.slice(prefix.length), value]];
  });
  return Object.fromEntries(entries);
}

function fieldValue(
  field: Field,
  form: URLSearchParams,
  state: Pick<FormState, 'words' | 'isStored'>,
): unknown {
  const { path, schema, isNullable, isOptional } = field;
  const text = (form.get(path) ?? '').replaceAll('\r\n', '\n');
  switch (schema._zod.def.type) {
    case 'boolean':
      return form.get(path) === 'true';
    case 'object':
      if (isNullable && form.get(path) !== 'true') return null;
      return objectOf(schema as z.ZodObject, form, { ...state, prefix: `${path}.` });
    case 'literal':
      return (schema as z.ZodLiteral).def.values.find((one) => String(one) === text) ?? text;
    case 'array':
      return isOfPairs(schema) ? pairsOf(path, form) : itemsOf(schema as z.ZodArray, path, form);
    case 'number':
      if (text.trim() === '') return isNullable ? null : undefined;
      return Number.isNaN(Number(text)) ? text : Number(text);
  }
  if (text !== '') return text;
  if (state.words[path]?.isSecret && state.isStored) return '';
  if (isNullable) return null;
  return isOptional ? undefined : '';
}

/** What stands in the lines of a text, or in the boxes that are ticked. */
function linesOf(path: string, form: URLSearchParams): string[] {
  return form.getAll(path).flatMap((text) => text.split(/\r?\n/).flatMap((line) => line.trim() || []));
}

function itemsOf({ element }: z.ZodArray, path: string, form: URLSearchParams): unknown[] {
  const isOfNumbers = element._zod.def.type === 'number';
  return linesOf(path, form).map((line) =>
    isOfNumbers && !Number.isNaN(Number(line)) ? Number(line) : line,
  );
}

function pairsOf(path: string, form: URLSearchParams): Record<string, unknown>[] {
  return Array.from({ length: rowCount(path, form) }, (_, index) => {
    const of = (part: string) => form.get(`${path}.${index}.${part}`) ?? '';
    return { key: of('key'), value: of('value'), locked: of('locked') === 'true' };
  }).filter(({ key, value }) => key !== '' || value !== '');
}

/** What the fields of a form hold when it shows an object. */
export function valuesOf(object: object, prefix = '', values = new URLSearchParams()): URLSearchParams {
  for (const [name, value] of Object.entries(object)) {
    const path = `${prefix}${name}`;
    if (value === null || value === undefined) continue;
    if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
      values.set(path, value.join('\n'));
    } else if (typeof value === 'object') valuesOf(value, `${path}.`, values);
    else values.set(path, String(value));
  }
  return values;
}

/** The defaults of a schema, for the form of something new. */
export function defaultsOf(schema: z.ZodObject, prefix = ''): URLSearchParams {
  const defaults = Object.entries(schema.shape).flatMap(([name, inner]): [string, unknown][] =>
    hasDefault(inner) ? [[name, inner.parse(undefined)]] : [],
  );
  return valuesOf(Object.fromEntries(defaults), prefix);
}

/** `webhookSecret` and `created_at` as people write them. */
export function labelOf(path: string): string {
  const name = path.slice(path.lastIndexOf('.') + 1).replaceAll('_', ' ');
  const words = name.replaceAll(/([a-z])([A-Z])/g, (_, before: string, after: string) => {
    return `${before} ${after.toLowerCase()}`;
  });
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.replaceAll(/\b(url|api)\b/gi, (word) =>
    word.toUpperCase(),
  );
}

import type { FieldLayout } from '@picket/checks/contract/definition/form-layout.ts';
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
import { type Field, hasObject, objectWord } from './field.ts';
import { chipField, searchField } from './pickers.ts';
import type { Problems } from './problems.ts';
import { linesOf, rowCount } from './values.ts';

/** Code fields with this many lines show line numbers. */
const codeLines = 8;
/** Number of empty rows at the end of a list without an add button. */
const spareRows = 2;

/** Labels and options of a field, in addition to the layouts of check types. */
export interface FieldWords extends Omit<FieldLayout, 'hint'> {
  readonly hint?: Content;
  /** Options if the schema cannot know them, or names them differently. */
  readonly choices?: readonly Choice[];
  /** Input type of a text for which browsers have a special one. */
  readonly type?: FieldOptions['type'];
  readonly suggestions?: readonly string[];
  /** Label of the checkbox for an optional object. */
  readonly boxLabel?: string;
  /** Its value is never shown again. */
  readonly isSecret?: boolean;
  /** Value that an empty input becomes; it is then not required. */
  readonly placeholder?: string;
  /** Further attributes of its input, for scripts. */
  readonly attributes?: Html;
  /** The text for which its choices were searched. */
  readonly search?: string;
  /** Content after its input: a control that fills it. */
  readonly after?: Content;
}

/** Words by field pattern. */
export type Words = Readonly<Record<string, FieldWords>>;

export interface FormView {
  readonly layout: Words;
  readonly values: URLSearchParams;
  readonly problems?: Problems | undefined;
  /** Names of inputs whose stored value is hidden: left empty, it stays. */
  readonly hidden: ReadonlySet<string>;
  /** Notes on their stored values. */
  readonly notes?: ReadonlyMap<string, string> | undefined;
  /** Whether the fields are conditional: in a row that may stay empty, or an object that may be absent. */
  readonly isConditional?: boolean;
  /** A long form: split into sections, without hints at checkboxes. */
  readonly isLong?: boolean;
  /** Attributes of the buttons that change only the form; without them lists end with empty rows. */
  readonly partial?: Html;
}

/** Shows fields one below the other, each with its value and its problem. */
export function fieldViews(fields: readonly Field[], view: FormView, prefix = ''): Html {
  return html`${fields.map((field) => fieldView(field, `${prefix}${field.key}`, view))}`;
}

/** Shows the fields of sections outside their parts: their names are their patterns. */
export function sectionView(fields: readonly Field[], view: FormView): Html {
  return html`${fields.map((field) => {
    const shown = fieldView(field, field.pattern, view);
    const unused = unusedClass(field, view);
    return unused === '' ? shown : html`<div class="${unused}">${shown}</div>`;
  })}`;
}

/** The class of a field that a choice of the form hides (editor.css); empty: it is always shown. */
function unusedClass({ pattern }: Field, { layout }: FormView): string {
  const { unusedWith } = layout[pattern] ?? {};
  return unusedWith === undefined ? '' : `unused-with-${unusedWith.replaceAll('.', '-')}`;
}

/** The same next to each other, as wide as their layouts say. */
export function firstLevelView(fields: readonly Field[], view: FormView): Html {
  return html`<div class="first">${fields.map((field) => {
    const shown = fieldView(field, field.pattern, view);
    const width = view.layout[field.pattern]?.width ?? 'whole';
    const unused = unusedClass(field, view);
    return shown === ''
      ? ''
      : html`<div class="cell cell-${width}${unused === '' ? '' : ` ${unused}`}">${shown}</div>`;
  })}</div>`;
}

function fieldView(field: Field, name: string, view: FormView): Html | '' {
  const own = view.layout[field.pattern] ?? {};
  const label = own.label ?? labelOf(field.key);
  const known = own.choices;
  const value = own.isSecret ? '' : (view.values.get(name) ?? '');
  if (own.isOnlyIfSet && value === '' && !view.problems?.fields.has(name)) return '';
  const common = {
    name,
    label,
    value,
    hint: hintOf(field, name, view),
    error: view.problems?.fields.get(name),
  };
  switch (field.kind) {
    case 'fixed':
      return '';
    case 'switch':
      return checkbox({
        ...{ name, label, isChecked: value === 'true', error: common.error },
        ...(view.isLong ? {} : { hint: common.hint }),
      });
    case 'choice': {
      const none = field.isNullable || field.isOptional ? [noneOf(own, view)] : [];
      return selectField({
        ...common,
        choices: withPresent([...none, ...(known ?? optionsOf(field, own))], value),
      });
    }
    case 'set':
    case 'list': {
      const error = common.error ?? errorBelow(name, view);
      const picked = { ...common, error, chosen: linesOf(view.values, name) };
      if (own.picker === 'tags') return chipField({ ...picked, suggestions: own.suggestions ?? [] });
      if (own.picker === 'checks' && view.partial) {
        const { search = '' } = own;
        return searchField({ ...picked, choices: known ?? [], search, partial: view.partial });
      }
      if (known || field.kind === 'set') {
        const choices = own.isOnlyIfSet ? [] : (known ?? optionsOf(field, own));
        return boxes({ ...picked, choices, isFoldable: view.isLong === true });
      }
      const lines = view.values.getAll(name).join('\n');
      const hint = common.hint ?? (view.isLong ? undefined : 'One per line.');
      return textArea({ ...common, value: lines, rows: own.lines ?? 3, error, hint });
    }
    case 'rows':
      return rows(field, common, view);
    case 'part':
      return own.isFolded ? folded(field, common, view) : part(field, common, view);
    case 'variant':
      return own.boxLabel === undefined ? variant(field, common, view) : part(field, common, view);
    case 'json':
      return textArea({ ...common, rows: own.lines ?? 4 });
    case 'number':
    case 'text':
      if (known)
        return html`${selectField({ ...common, choices: withPresent([noneOf(own, view), ...known], value) })}${own.after ?? ''}`;
      if (field.kind === 'text') return text(field, common, own, view);
      return textField({ ...common, type: 'number', isRequired: isRequired(field, name, view) });
  }
}

type Common = Parameters<typeof textField>[0];

function isRequired(field: Field, name: string, view: FormView): boolean {
  const { isOptional, hasDefault, isNullable } = field;
  return !(isOptional || hasDefault || isNullable || view.isConditional || view.hidden.has(name));
}

function text(field: Field, common: Common, own: FieldWords, view: FormView): Html {
  const { value = '', name } = common;
  // A single-line input would lose line breaks.
  if (own.lines || value.includes('\n')) {
    const isCode = own.isCode === true && (own.lines ?? 0) >= codeLines;
    const area = textArea({ ...common, rows: own.lines ?? 3, isCode });
    return own.isCode ? html`<div class="code">${area}</div>` : area;
  }
  const isPassword = field.key === 'password' || own.isSecret === true;
  const input = textField({
    ...common,
    ...(isPassword
      ? { type: 'password', autocomplete: 'new-password' }
      : { type: own.type ?? 'text', autocomplete: 'off' }),
    ...(own.suggestions ? { suggestions: own.suggestions } : {}),
    placeholder: own.placeholder,
    attributes: own.attributes,
    isRequired: isRequired(field, name, view) && field.key !== 'password' && own.placeholder === undefined,
  });
  return own.isCode ? html`<div class="code">${input}</div>` : input;
}

function rows(field: Field & { kind: 'rows' }, { name, label, hint, error }: Common, view: FormView): Html {
  const { partial } = view;
  const hasChoice = field.fields.some(({ kind }) => kind === 'choice');
  // Without scripts an additional row costs a round trip: lists of pairs have an empty one ready.
  const count = rowCount(name, view.values) + (partial ? (hasChoice ? 0 : 1) : spareRows);
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  const row = (index: number) => {
    const isWrong = [...(view.problems?.fields.keys() ?? [])].some((key) =>
      key.startsWith(`${name}.${index}.`),
    );
    return html`<div class="row${isWrong ? ' field-wrong' : ''}" role="group" aria-label="${label} ${index + 1}">${fieldViews(field.fields, { ...view, isConditional: true }, `${name}.${index}.`)}${
      partial
        ? html`<button class="button small" type="submit" name="$do" value="remove ${name} ${index}" formnovalidate aria-label="Remove ${label} ${index + 1}"${partial}>Remove</button>`
        : ''
    }</div>`;
  };
  const add = partial
    ? html`<button class="button small" type="submit" name="$do" value="add ${name}" formnovalidate aria-label="Add to ${label}"${partial}>Add</button>`
    : '';
  return html`<fieldset class="rows" id="${id}"><legend>${label}</legend>${errorOf(error)}${Array.from({ length: count }, (_, index) => row(index))}
${add}${hint ? html`<p class="hint">${hint}</p>` : ''}${partial ? '' : html`<p class="hint">${emptyRows(field)}</p>`}</fieldset>`;
}

function emptyRows({ fields }: Field & { kind: 'rows' }): string {
  const hasLock = fields.some(({ key }) => key === 'locked');
  return `Empty rows are ignored.${hasLock ? ' Locked values are never shown again.' : ''}`;
}

/** An object, with a checkbox if it may be absent. */
function part(
  field: Field & { kind: 'part' | 'variant' },
  { name, label, hint, error, value }: Common,
  view: FormView,
): Html {
  const boxLabel = field.kind === 'variant' ? view.layout[field.pattern]?.boxLabel : undefined;
  const box =
    boxLabel === undefined
      ? ''
      : checkbox({ name, label: boxLabel, isChecked: value === objectWord, value: objectWord });
  const [kind, about] = view.isLong ? ['part', ''] : ['group', hint ? html`<p class="hint">${hint}</p>` : ''];
  return html`<fieldset class="${kind}"><legend>${label}</legend>${about}${errorOf(error)}${box}${fieldViews(field.fields, { ...view, isConditional: view.isConditional || box !== '' }, `${name}.`)}</fieldset>`;
}

function folded(field: Field & { kind: 'part' }, { name, label }: Common, view: FormView): Html {
  const isOpen = errorBelow(name, view) !== undefined;
  return html`<details class="part-folded"${isOpen ? html` open` : ''}><summary>${label}</summary>${fieldViews(field.fields, view, `${name}.`)}</details>`;
}

/** A choice whether the object is present, followed by its fields. */
function variant(field: Field & { kind: 'variant' }, common: Common, view: FormView): Html {
  const own = view.layout[field.pattern] ?? {};
  const wordOf = (value: string) => own.words?.[value] ?? (value === '' ? 'none' : humanized(value));
  const words = field.pick ? field.words : [...field.words, objectWord];
  const picked = field.pick ? optionsOf(field.pick, view.layout[field.pick.pattern] ?? {}) : [];
  const choices = [...words.map((value) => ({ value, word: wordOf(value) })), ...picked];
  const isThere = hasObject(field, common.value ?? '');
  return html`<div class="variant">${selectField({ ...common, value: common.value ?? '', choices })}<details${isThere ? html` open` : ''}><summary>${common.label}: its settings</summary>${fieldViews(field.fields, { ...view, isConditional: true }, `${common.name}.`)}</details></div>`;
}

/** Returns the options that a schema knows. */
export function optionsOf(field: Field, own: FieldWords): Choice[] {
  if (field.kind === 'set')
    return field.options.map((value) => ({ value, word: own.words?.[value] ?? value }));
  if (field.kind !== 'choice') return [];
  return field.options.map((option) => {
    const value = String(option);
    return {
      value,
      word: own.words?.[value] ?? (typeof option === 'boolean' ? (option ? 'yes' : 'no') : humanized(value)),
    };
  });
}

function noneOf(own: FieldWords, { isLong }: FormView): Choice {
  return { value: '', word: own.words?.[''] ?? (isLong ? '–' : 'None') };
}

/** A value that is no longer offered stays selected, so that saving does not change it. */
function withPresent(choices: readonly Choice[], value: string): readonly Choice[] {
  return value === '' || choices.some((choice) => choice.value === value)
    ? choices
    : [...choices, { value, word: value || '–' }];
}

function hintOf(field: Field, name: string, view: FormView): Content {
  if (view.hidden.has(name)) {
    const note = view.notes?.get(name);
    return html`Hidden. Leave empty to keep the stored value.${note === undefined ? '' : html` <strong>${note}</strong>`}`;
  }
  return view.layout[field.pattern]?.hint ?? field.description;
}

function errorOf(error: string | undefined): Html | '' {
  return error === undefined ? '' : html`<p class="error">${error}</p>`;
}

/** Returns the problem of an item of a list. */
function errorBelow(name: string, { problems }: FormView): string | undefined {
  return [...(problems?.fields ?? [])].find(([key]) => key.startsWith(`${name}.`))?.[1];
}

/** Formats `STATUS_CODE` for people. */
function humanized(value: string): string {
  return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(value) ? value.toLowerCase().replaceAll('_', ' ') : value;
}

/** Formats `followRedirects` and `created_at` for people. */
export function labelOf(key: string): string {
  const words = key
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.replaceAll(/\b(url|api)\b/gi, (word) =>
    word.toUpperCase(),
  );
}

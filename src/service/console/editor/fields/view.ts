import type { FieldLayout, FormLayout } from '../../../../checks/contract/definition/form-layout.ts';
import { type Choice, checkbox, selectField, textArea, textField } from '../../elements/form.ts';
import type { Problems } from '../../forms/problems.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type Field, objectWord } from './field.ts';
import { linesOf, rowCount } from './values.ts';

/** What is code and has this many lines is a script: its lines are counted. */
const codeLines = 8;

/** Something that can be chosen, as the account has it at the moment. */
export interface KnownChoice extends Choice {
  /** How it stands, after its word. */
  readonly note?: Content;
}

export interface FormView {
  readonly layout: FormLayout;
  readonly values: URLSearchParams;
  readonly problems?: Problems | undefined;
  /** What there is to choose for fields whose schema cannot know it, by their patterns. */
  readonly choices: ReadonlyMap<string, readonly KnownChoice[]>;
  /** Names of inputs whose stored value is not shown: left empty, it stays. */
  readonly hidden: ReadonlySet<string>;
  /** What is to be said of their stored values. */
  readonly notes?: ReadonlyMap<string, string> | undefined;
  /** Whether what is shown need not be filled in: a row that may stay empty, an object that may be absent. */
  readonly isConditional?: boolean;
  /** Attributes of the buttons that change the form itself. */
  readonly partial: Html;
}

/** Fields one below the other, each with its value and what is wrong with it. */
export function fieldViews(fields: readonly Field[], view: FormView, prefix = ''): Html {
  return html`${fields.map((field) => fieldView(field, `${prefix}${field.key}`, view))}`;
}

/** The fields of sections stand below the parts they are in: their names are their patterns. */
export function sectionView(fields: readonly Field[], view: FormView): Html {
  return html`${fields.map((field) => fieldView(field, field.pattern, view))}`;
}

function fieldView(field: Field, name: string, view: FormView): Html | '' {
  const own = view.layout[field.pattern] ?? {};
  const label = own.label ?? labelOf(field.key);
  const known = view.choices.get(field.pattern);
  const value = view.values.get(name) ?? '';
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
      return html`${checkbox({ name, label, isChecked: value === 'true' })}${errorOf(common.error)}`;
    case 'choice':
      return selectField({ ...common, choices: withPresent(known ?? optionsOf(field, own), value) });
    case 'set':
    case 'list':
      if (known || field.kind === 'set') return boxes(common, known ?? optionsOf(field, own), view);
      return textArea({
        ...common,
        value: view.values.getAll(name).join('\n'),
        rows: own.lines ?? 3,
        error: common.error ?? errorBelow(name, view),
      });
    case 'rows':
      return rows(field, common, view);
    case 'part':
      if (own.isFolded) return folded(field, common, view);
      return html`<fieldset class="part"><legend>${label}</legend>${fieldViews(field.fields, view, `${name}.`)}</fieldset>`;
    case 'variant':
      return variant(field, common, view);
    case 'json':
      return textArea({ ...common, rows: own.lines ?? 4 });
    case 'number':
      if (known) return selectField({ ...common, choices: withPresent([none(own), ...known], value) });
      return textField({ ...common, type: 'number' });
    default:
      if (known) return selectField({ ...common, choices: withPresent([none(own), ...known], value) });
      return text(field, common, own, view);
  }
}

type Common = Parameters<typeof textField>[0];

function text(field: Field, common: Common, own: FieldLayout, view: FormView): Html {
  const { value = '', name } = common;
  // A line break would be lost in an input of one line.
  if (own.lines || value.includes('\n')) {
    const isCode = own.isCode === true && (own.lines ?? 0) >= codeLines;
    const area = textArea({ ...common, rows: own.lines ?? 3, isCode });
    return own.isCode ? html`<div class="code">${area}</div>` : area;
  }
  const isPassword = field.key === 'password';
  const input = textField({
    ...common,
    ...(isPassword ? { type: 'password', autocomplete: 'new-password' } : { autocomplete: 'off' }),
    isRequired:
      !field.isOptional &&
      !field.hasDefault &&
      !field.isNullable &&
      !view.isConditional &&
      !view.hidden.has(name) &&
      !isPassword,
  });
  return own.isCode ? html`<div class="code">${input}</div>` : input;
}

/** Several that can be chosen, as boxes; those that are chosen and not there any more are shown as well. */
function boxes({ name, label, hint, error }: Common, choices: readonly KnownChoice[], view: FormView): Html {
  const present = linesOf(view.values, name);
  const gone = present.filter((one) => !choices.some(({ value }) => value === one));
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  const all = [...choices, ...gone.map((value) => ({ value, word: value, note: 'not there any more' }))];
  const box = ({ value, word, note }: KnownChoice, index: number) =>
    html`<li><input type="checkbox" id="${id}-${index}" name="${name}" value="${value}"${present.includes(value) ? html` checked` : ''}><label for="${id}-${index}">${word}${note ? html` <span class="soft">${note}</span>` : ''}</label></li>`;
  const wrong = error ?? errorBelow(name, view);
  const list =
    all.length === 0
      ? html`<p class="soft">There is none yet.</p>`
      : html`<ul class="boxes">${all.map(box)}</ul>`;
  // Long lists that nobody needs are out of the way.
  const isLong = choices.length > 12 && present.length === 0;
  return html`<fieldset class="field${wrong ? ' field-wrong' : ''}" id="${id}"><legend>${label}</legend>${errorOf(wrong)}${
    isLong ? html`<details><summary>${choices.length} to choose from</summary>${list}</details>` : list
  }${hint ? html`<p class="hint">${hint}</p>` : ''}</fieldset>`;
}

function rows(field: Field & { kind: 'rows' }, { name, label, hint, error }: Common, view: FormView): Html {
  const hasChoice = field.fields.some(({ kind }) => kind === 'choice');
  // Without scripts a row more costs a round trip: pairs have an empty one at hand.
  const count = rowCount(name, view.values) + (hasChoice ? 0 : 1);
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  const row = (index: number) => {
    const isWrong = [...(view.problems?.fields.keys() ?? [])].some((key) =>
      key.startsWith(`${name}.${index}.`),
    );
    return html`<div class="row${isWrong ? ' field-wrong' : ''}" role="group" aria-label="${label} ${index + 1}">${fieldViews(field.fields, { ...view, isConditional: true }, `${name}.${index}.`)}<button class="button small" type="submit" name="$do" value="remove ${name} ${index}" formnovalidate aria-label="Remove ${label} ${index + 1}"${view.partial}>Remove</button></div>`;
  };
  return html`<fieldset class="rows" id="${id}"><legend>${label}</legend>${errorOf(error)}${Array.from({ length: count }, (_, index) => row(index))}
<button class="button small" type="submit" name="$do" value="add ${name}" formnovalidate aria-label="Add to ${label}"${view.partial}>Add</button>${hint ? html`<p class="hint">${hint}</p>` : ''}</fieldset>`;
}

function folded(field: Field & { kind: 'part' }, { name, label }: Common, view: FormView): Html {
  const isOpen = errorBelow(name, view) !== undefined;
  return html`<details class="part-folded"${isOpen ? html` open` : ''}><summary>${label}</summary>${fieldViews(field.fields, view, `${name}.`)}</details>`;
}

/** Whether there is such a thing, and below it what it is. */
function variant(field: Field & { kind: 'variant' }, common: Common, view: FormView): Html {
  const own = view.layout[field.pattern] ?? {};
  const wordOf = (value: string) => own.words?.[value] ?? (value === '' ? 'none' : humanized(value));
  const choices = [...field.words, objectWord].map((value) => ({ value, word: wordOf(value) }));
  const isThere = common.value === objectWord;
  return html`<div class="variant">${selectField({ ...common, value: common.value ?? '', choices })}<details${isThere ? html` open` : ''}><summary>${common.label}: its settings</summary>${fieldViews(field.fields, { ...view, isConditional: true }, `${common.name}.`)}</details></div>`;
}

function optionsOf(field: Field, own: FieldLayout): KnownChoice[] {
  if (field.kind === 'set')
    return field.options.map((value) => ({ value, word: own.words?.[value] ?? value }));
  if (field.kind !== 'choice') return [];
  const options = field.options.map((option) => {
    const value = String(option);
    return {
      value,
      word: own.words?.[value] ?? (typeof option === 'boolean' ? (option ? 'yes' : 'no') : humanized(value)),
    };
  });
  return field.isNullable || field.isOptional ? [none(own), ...options] : options;
}

function none(own: FieldLayout): KnownChoice {
  return { value: '', word: own.words?.[''] ?? '–' };
}

/** A value that is no choice any more stays chosen, so that saving does not change it. */
function withPresent(choices: readonly KnownChoice[], value: string): readonly KnownChoice[] {
  return value === '' || choices.some((choice) => choice.value === value)
    ? choices
    : [...choices, { value, word: value || '–' }];
}

function hintOf(field: Field, name: string, view: FormView): Content {
  if (view.hidden.has(name)) {
    const note = view.notes?.get(name);
    return html`Not shown. Left empty, the stored one stays.${note === undefined ? '' : html` <strong>${note}</strong>`}`;
  }
  return view.layout[field.pattern]?.hint ?? field.description;
}

function errorOf(error: string | undefined): Html | '' {
  return error === undefined ? '' : html`<p class="error">${error}</p>`;
}

/** What is wrong with an item of a list. */
function errorBelow(name: string, { problems }: FormView): string | undefined {
  return [...(problems?.fields ?? [])].find(([key]) => key.startsWith(`${name}.`))?.[1];
}

/** `STATUS_CODE` as people say it. */
function humanized(value: string): string {
  return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(value) ? value.toLowerCase().replaceAll('_', ' ') : value;
}

/** `followRedirects` as people write it. */
function labelOf(key: string): string {
  const words = key.replaceAll(
    /([a-z])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

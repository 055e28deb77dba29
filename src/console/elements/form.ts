import type { Viewer } from '@picket/service/logins/sessions.ts';
import { type Content, type Html, html } from '../html.ts';

/** Required field of every form that writes. */
export function csrfField({ csrfToken }: Pick<Viewer, 'csrfToken'>): Html {
  return html`<input type="hidden" name="csrf" value="${csrfToken}">`;
}

export interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly type?: 'text' | 'search' | 'password' | 'number' | 'url' | 'email' | 'color' | 'datetime-local';
  readonly hint?: Content;
  /** Error message about the value. */
  readonly error?: string | undefined;
  readonly isRequired?: boolean;
  readonly autocomplete?: string;
  /** Suggestions of the browser during input. */
  readonly suggestions?: readonly string[];
  /** Shown in an empty input: what it will be. */
  readonly placeholder?: string | undefined;
  /** Further attributes, for scripts. */
  readonly attributes?: Html | undefined;
  /** Distinguishes fields of the same name in several forms of a page. */
  readonly id?: string;
}

function idOf({ id, name }: Pick<FieldOptions, 'id' | 'name'>): string {
  return `field-${(id ?? name).replaceAll(/\W/g, '-')}`;
}

type Noted = Pick<FieldOptions, 'hint' | 'error'>;

/** A labelled input; screen readers read its hint and error along with it. */
export function textField(options: FieldOptions): Html {
  const { name, label, value = '', type = 'text' } = options;
  const id = idOf(options);
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}"${options.isRequired ? html` required` : ''}${
    options.autocomplete ? html` autocomplete="${options.autocomplete}"` : ''
  }${stepOf(type, value)}${
    options.suggestions ? html` list="${id}-list"` : ''
  }${options.placeholder ? html` placeholder="${options.placeholder}"` : ''}${options.attributes ?? ''}${described(id, options)}>${suggestions(id, options)}${notes(id, options)}</div>`;
}

/** Without a step, browsers refuse fractions in numbers and seconds in times. */
function stepOf(type: FieldOptions['type'], value: string): Html | '' {
  if (type === 'number') return html` step="any"`;
  return type === 'datetime-local' && value.length > 16 ? html` step="1"` : '';
}

function suggestions(id: string, { suggestions: list }: Pick<FieldOptions, 'suggestions'>): Html | '' {
  if (!list) return '';
  return html`<datalist id="${id}-list">${list.map((one) => html`<option value="${one}"></option>`)}</datalist>`;
}

/** The same for a text of several lines. */
export function textArea(
  options: Omit<FieldOptions, 'type'> & {
    readonly rows?: number;
    /** Shows line numbers, and Tab indents. */
    readonly isCode?: boolean;
  },
): Html {
  const { name, label, value = '', rows = 6 } = options;
  const id = idOf(options);
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<textarea id="${id}" name="${name}" rows="${rows}" spellcheck="false"${options.isCode ? html` data-code wrap="off"` : ''}${described(id, options)}>
${value}</textarea>${notes(id, options)}</div>`;
}

/** An option of a choice. */
export interface Choice {
  readonly value: string;
  readonly word: string;
  /** Before its word and after it; shown by checkboxes only. */
  readonly before?: Content;
  readonly note?: Content;
}

/** A labelled choice of one among several. */
export function selectField(
  options: Omit<FieldOptions, 'type'> & { readonly choices: readonly Choice[] },
): Html {
  const { name, label, value, choices } = options;
  const id = idOf(options);
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<select id="${id}" name="${name}"${described(id, options)}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value ? html` selected` : ''}>${choice.word}</option>`,
  )}</select>${notes(id, options)}</div>`;
}

export function checkbox(
  options: Noted & {
    readonly name: string;
    readonly label: Content;
    readonly isChecked: boolean;
    readonly id?: string;
    readonly value?: string;
  },
): Html {
  const id = idOf(options);
  return html`<div class="field field-box"><input type="checkbox" id="${id}" name="${options.name}" value="${options.value ?? 'true'}"${
    options.isChecked ? html` checked` : ''
  }${described(id, options)}><label for="${id}">${options.label}</label>${notes(id, options)}</div>`;
}

const mostUnfolded = 12;

/** A choice of any number, with checkboxes. */
export function boxes(
  options: Omit<FieldOptions, 'type' | 'value'> & {
    readonly choices: readonly Choice[];
    readonly chosen: readonly string[];
    /** Folds a long list without a selected option. */
    readonly isFoldable?: boolean;
  },
): Html {
  const { name, label, chosen, choices } = options;
  // Selected values stay even if they are no longer offered.
  const others = chosen.filter((value) => !choices.some((one) => one.value === value));
  const all = [...choices, ...others.map((value) => ({ value, word: value, note: 'no longer offered' }))];
  const id = idOf(options);
  const box = ({ value, word, before, note }: Choice, index: number) =>
    html`<li><input type="checkbox" id="${id}-${index}" name="${name}" value="${value}"${chosen.includes(value) ? html` checked` : ''}><label for="${id}-${index}">${before ? html`${before} ` : ''}${word}${note ? html` <span class="soft">${note}</span>` : ''}</label></li>`;
  const list =
    all.length === 0
      ? html`<p class="soft">No options available.</p>`
      : html`<ul class="boxes">${all.map(box)}</ul>`;
  const isFolded = options.isFoldable && choices.length > mostUnfolded && chosen.length === 0;
  return html`<fieldset class="field${options.error ? ' field-wrong' : ''}" id="${id}"${described(id, options)}><legend>${label}</legend>${
    isFolded ? html`<details><summary>${choices.length} to choose from</summary>${list}</details>` : list
  }${notes(id, options)}</fieldset>`;
}

function described(id: string, { hint, error }: Noted): Html | '' {
  const ids = [...(error ? [`${id}-error`] : []), ...(hint ? [`${id}-hint`] : [])];
  if (ids.length === 0) return '';
  return html` aria-describedby="${ids.join(' ')}"${error ? html` aria-invalid="true"` : ''}`;
}

function notes(id: string, { hint, error }: Noted): Content {
  return [
    error ? html`<p class="error" id="${id}-error">${error}</p>` : '',
    hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : '',
  ];
}

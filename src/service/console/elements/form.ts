import { type Content, type Html, html } from '../html.ts';
import type { Viewer } from '../page.ts';

/** What every form that writes must hold. */
export function csrfField({ csrfToken }: Pick<Viewer, 'csrfToken'>): Html {
  return html`<input type="hidden" name="csrf" value="${csrfToken}">`;
}

export interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly value?: string | undefined;
  readonly type?: 'text' | 'search' | 'password' | 'number' | 'url' | 'email';
  readonly hint?: Content;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
  readonly isRequired?: boolean;
  readonly autocomplete?: string;
}

/** A labelled input with its hint and its error, which screen readers read with it. */
export function textField(options: FieldOptions): Html {
  const { name, label, value = '', type = 'text' } = options;
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}"${options.isRequired ? html` required` : ''}${
    options.autocomplete ? html` autocomplete="${options.autocomplete}"` : ''
  }${described(id, options)}>${notes(id, options)}</div>`;
}

/** The same for a text of several lines. */
export function textArea(options: Omit<FieldOptions, 'type'> & { readonly rows?: number }): Html {
  const { name, label, value = '', rows = 6 } = options;
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<textarea id="${id}" name="${name}" rows="${rows}" spellcheck="false"${described(id, options)}>
${value}</textarea>${notes(id, options)}</div>`;
}

export interface Choice {
  readonly value: string;
  readonly word: string;
}

/** A labelled choice of one among several. */
export function selectField(
  options: Omit<FieldOptions, 'type'> & { readonly choices: readonly Choice[] },
): Html {
  const { name, label, value, choices } = options;
  const id = `field-${name.replaceAll(/\W/g, '-')}`;
  return html`<div class="field${options.error ? ' field-wrong' : ''}"><label for="${id}">${label}</label>
<select id="${id}" name="${name}"${described(id, options)}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value ? html` selected` : ''}>${choice.word}</option>`,
  )}</select>${notes(id, options)}</div>`;
}

export function checkbox(options: { name: string; label: Content; isChecked: boolean }): Html {
  const id = `field-${options.name.replaceAll(/\W/g, '-')}`;
  return html`<div class="field field-box"><input type="checkbox" id="${id}" name="${options.name}" value="true"${
    options.isChecked ? html` checked` : ''
  }><label for="${id}">${options.label}</label></div>`;
}

type Noted = Pick<FieldOptions, 'hint' | 'error'>;

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

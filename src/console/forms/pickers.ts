import { createHash } from 'node:crypto';
import type { Choice, FieldOptions } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';

type Picked = Pick<FieldOptions, 'name' | 'label' | 'hint' | 'error'> & {
  readonly chosen: readonly string[];
};

/** Words as chips, and an input with suggestions that adds one; with scripts any number before the form is sent. */
export function chipField({
  suggestions,
  ...field
}: Picked & { readonly suggestions: readonly string[] }): Html {
  const { name, label, chosen } = field;
  const id = idOf(name);
  const others = suggestions.filter((one) => !chosen.includes(one));
  return fieldset(
    field,
    html`<div class="chips" data-chips="${name}">${chosen.map((value) => chip(name, { value, word: value }))}<input id="${id}-new" name="${name}" value="" autocomplete="off" list="${id}-list" aria-label="Add to ${label}" placeholder="Add"></div><datalist id="${id}-list">${others.map((one) => html`<option value="${one}"></option>`)}</datalist>`,
  );
}

/** Objects by name: the chosen ones as chips, and a search whose findings can be ticked. */
export function searchField({
  choices,
  search,
  partial,
  ...field
}: Picked & {
  /** The chosen objects and those that were found. */
  readonly choices: readonly Choice[];
  readonly search: string;
  readonly partial: Html;
}): Html {
  const { name, label, chosen } = field;
  const id = idOf(name);
  const wordOf = new Map(choices.map(({ value, word }) => [value, word]));
  const picked = chosen.map((value) => ({ value, word: wordOf.get(value) ?? value }));
  const found = choices.filter(({ value }) => !chosen.includes(value));
  return fieldset(
    field,
    html`${picked.length === 0 ? '' : html`<div class="chips">${picked.map((one) => chip(name, one))}</div>`}<div class="find"><input id="${id}-find" type="search" name="$find.${name}" value="${search}" autocomplete="off" aria-label="Find by name for ${label}" placeholder="Find by name" data-find><button class="button small" type="submit" name="$do" value="find ${name}" formnovalidate${partial}>Find</button></div>${
      found.length === 0
        ? search === ''
          ? ''
          : html`<p class="soft small">Nothing else has “${visible(shortened(search, 60))}” in its name.</p>`
        : html`<ul class="boxes found">${found.map(({ value, word }) => html`<li><input type="checkbox" id="${boxId(name, value)}" name="${name}" value="${value}"><label for="${boxId(name, value)}">${word}</label></li>`)}</ul>`
    }`,
  );
}

function chip(name: string, { value, word }: Choice): Html {
  const id = boxId(name, value);
  return html`<span class="chip"><input type="checkbox" id="${id}" name="${name}" value="${value}" checked><label for="${id}">${visible(shortened(word, 80))}</label></span>`;
}

function fieldset({ name, label, hint, error }: Picked, content: Html): Html {
  const id = idOf(name);
  const noted = [...(error ? [`${id}-error`] : []), ...(hint ? [`${id}-hint`] : [])].join(' ');
  return html`<fieldset class="field${error ? ' field-wrong' : ''}" id="${id}"${noted === '' ? '' : html` aria-describedby="${noted}"`}><legend>${label}</legend>${content}${
    error ? html`<p class="error" id="${id}-error">${error}</p>` : ''
  }${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ''}</fieldset>`;
}

/** Differs for each value: an update of the page keeps ticks by the ids of their boxes. */
function boxId(name: string, value: string): string {
  return `${idOf(name)}-${createHash('sha256').update(value).digest('hex').slice(0, 12)}`;
}

function idOf(name: string): string {
  return `field-${name.replaceAll(/\W/g, '-')}`;
}

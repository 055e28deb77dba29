import { type Content, type Html, html } from '../html.ts';

/** Maximum length of a text on a page; the API returns all of it. */
const shownLetters = 64 * 1024;

/**
 * Characters that would change how the surrounding text is read: controls, and marks that change the writing direction.
 * They are shown as symbols or code points.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Makes invisible characters in a text of a target or a script visible. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(hidden, (letter) => {
    const code = letter.charCodeAt(0);
    return code < 0x20
      ? String.fromCharCode(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Shows a text unchanged, line by line. */
export function block(label: string, text: string): Html {
  const isCut = text.length > shownLetters;
  return html`<pre tabindex="0" role="region" aria-label="${label}">${visible(isCut ? text.slice(0, shownLetters) : text)}</pre>${
    isCut
      ? html`<p class="hint">The first ${shownLetters / 1024} KiB of ${(text.length / 1024).toFixed(0)}. The API returns all of it.</p>`
      : ''
  }`;
}

/** Lists the headers of a request or a response. */
export function headerList(headers: Readonly<Record<string, string>>): Html | '' {
  const entries = Object.entries(headers);
  if (entries.length === 0) return '';
  return html`<dl class="headers">${entries.map(
    ([name, value]) => html`<div><dt>${visible(name)}</dt><dd>${visible(value)}</dd></div>`,
  )}</dl>`;
}

/** Formats a value of any shape for people. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A section of a page with its heading. */
export function section(title: string, content: Content, id?: string): Html {
  return html`<section${id ? html` id="${id}"` : ''}><h2>${title}</h2>${content}</section>`;
}

/** Texts up to this length fit their column without being cut. */
const shortText = 40;

/** Shows a text of a target in one line of a table: a click opens all of it, and what else there is to say. */
export function oneLine(text: string, more: Content = ''): Content {
  const shown = visible(text);
  if (shown.length <= shortText && more === '') return shown;
  return html`<details class="one-line"><summary>${shown}</summary>${more}</details>`;
}

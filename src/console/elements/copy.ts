import { type Html, html } from '../html.ts';
import { icon } from './icon.ts';

/** A button that copies a text to the clipboard; it appears only with scripts (assets/app/copy.js). */
export function copyButton(options: {
  readonly text: string;
  /** Name of the text, for screen readers: `the id`. */
  readonly what: string;
  /** Shown next to the icon. */
  readonly word?: string;
}): Html {
  const { text, what, word = '' } = options;
  return html`<button class="copy" type="button" data-copy="${text}" aria-label="Copy ${what}">${icon('copy')}${word}</button>`;
}

/** A command or another text to copy, in a box of its own. */
export function copyBox(text: string, what: string): Html {
  return html`<div class="copied"><pre tabindex="0" role="region" aria-label="${what}">${text}</pre>${copyButton({ text, what })}</div>`;
}

/** A short text of programs, such as an id or a URL, with its button. */
export function copyable(text: string, what: string): Html {
  return html`<span class="copyable"><code>${text}</code>${copyButton({ text, what })}</span>`;
}

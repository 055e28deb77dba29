import { type Content, type Html, html } from '../html.ts';
import { icon } from './icon.ts';

/** A button that opens a list of actions or links below it; works without scripts. */
export function menu(options: {
  /** For screen readers, or shown if `word` is set. */
  readonly label: string;
  readonly word?: string;
  readonly items: readonly Content[];
}): Html {
  const { label, word, items } = options;
  return html`<details class="menu"><summary class="button${word === undefined ? ' bare' : ''}" aria-label="${label}">${
    word === undefined ? icon('kebab-horizontal') : html`${word}${icon('triangle-down')}`
  }</summary><div class="menu-list">${items}</div></details>`;
}

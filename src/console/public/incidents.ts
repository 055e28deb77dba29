import { duration, instant } from '../elements/format.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';

export interface ShownUpdate {
  readonly status: string;
  readonly description: string;
  readonly at: string;
}

/** An incident or a maintenance, with its updates. */
export interface Notice {
  readonly id: string;
  readonly name: string;
  readonly state: State;
  /** The state in words. */
  readonly word: string;
  /** Time and duration. */
  readonly when: Content;
  readonly services: readonly string[];
  readonly description?: string | null;
  /** Newest first. */
  readonly updates: readonly ShownUpdate[];
}

/** Formats a status for people: "IN_PROGRESS" is "In progress". */
export function statusWord(status: string): string {
  const words = status.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function since(started: string, seconds: number | null): Html {
  return seconds === null
    ? html`since ${instant(started)}`
    : html`${instant(started)}, ${duration(seconds * 1_000)}`;
}

function body({ services, description, updates }: Notice): Html {
  return html`${services.length > 0 ? html`<p class="small soft">Affects ${services.map(visible).join(', ')}</p>` : ''}
${description ? html`<p class="prose">${visible(description)}</p>` : ''}
${
  updates.length === 0
    ? ''
    : html`<ol class="updates">${updates.map(
        ({ status, description: text, at }) =>
          html`<li><p class="small"><b>${statusWord(status)}</b> <span class="soft">${instant(at)}</span></p><p class="prose">${visible(text)}</p></li>`,
      )}</ol>`
}`;
}

/** Shows a current incident with all its updates. */
export function openNotice(notice: Notice): Html {
  return html`<article class="notice-card notice-${notice.state}" id="${notice.id}"><h3>${visible(notice.name)}</h3>
<p class="notice-line">${stateBadge(notice.state, notice.word)}<span class="small soft">${notice.when}</span></p>
${body(notice)}</article>`;
}

/** Shows a past incident as a line that expands to its details. */
export function pastNotice(notice: Notice): Html {
  return html`<details class="past" id="${notice.id}"><summary>${visible(notice.name)} <span class="small soft">${notice.word} · ${notice.when}</span></summary>
<div>${body(notice)}</div></details>`;
}

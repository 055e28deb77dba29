import type { AuditEntry } from '@picket/protocol/accounts/audit-log.ts';
import { counted, shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Content, html, withQuery } from '../html.ts';

export const outcomeWords = { DONE: 'done', REFUSED: 'refused', UNKNOWN: 'outcome unknown' } as const;

/** Longer entries are folded. */
const longestOpen = 160;

const kindWords = {
  API_KEY: 'API key',
  MEMBER: '',
  LINK: 'by a link',
  COMMAND: 'at the command line',
  NOBODY: 'not logged in',
} as const;

/** Shows the actor, with a link to all of their changes. */
export function who({ kind, id, name }: AuditEntry['actor'], address: string | null): Content {
  const shown = visible(shortened(name, 80));
  const notes = [kindWords[kind], address === null ? '' : `from ${address}`].filter(Boolean).join(', ');
  return html`${id === null ? shown : html`<a href="${withQuery('/account/audit', { actorId: id })}">${shown}</a>`}${notes === '' ? '' : html` <span class="small soft">${notes}</span>`}`;
}

const abbreviations = new Set(['api', 'url', 'dns', 'tcp', 'icmp', 'slo']);

/** Formats `updateApiCheck`, and `updateAPIcheck` of older versions, for people. */
export function what({ operation, outcome }: AuditEntry): Content {
  const words = operation
    .split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[a-z])/)
    .map((word) => word.toLowerCase())
    .map((word) => (abbreviations.has(word) ? word.toUpperCase() : word))
    .join(' ');
  return html`${words}${outcome === 'DONE' ? '' : html` <span class="small">${outcomeWords[outcome]}</span>`}`;
}

/** Shows each changed field, before and after. */
export function changes({ before, after, secrets }: AuditEntry): Content {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0 && secrets.length === 0) return '';
  const list = html`<dl class="changes">${names.map(
    (name) =>
      html`<div><dt>${name}</dt><dd>${value(before?.[name], 'del')}${value(after?.[name], 'ins')}</dd></div>`,
  )}${secrets.map((name) => html`<div><dt>${name}</dt><dd>changed, value hidden</dd></div>`)}</dl>`;
  const letters = JSON.stringify([before, after]).length;
  if (names.length <= 3 && letters <= longestOpen) return list;
  return html`<details><summary>${counted(names.length, 'field')}</summary>${list}</details>`;
}

function value(one: unknown, kind: 'del' | 'ins'): Content {
  if (one === undefined) return '';
  const text = visible(shortened(typeof one === 'string' ? one : JSON.stringify(one), 2_000));
  return kind === 'del' ? html`<del>${text}</del> ` : html`<ins>${text}</ins>`;
}

import type { AuditEntry } from '@picket/protocol/accounts/audit-log.ts';
import { copyable } from '../elements/copy.ts';
import { duration, instant, shortened } from '../elements/format.ts';
import { block, section, visible } from '../elements/text.ts';
import { changeList, lastAuthor } from '../history/last-changes.ts';
import { type Content, html, withQuery } from '../html.ts';
import type { TimingWords } from './timing.ts';

/** Shows the settings of a check, and the author of the last change. */
export function configuration(
  check: Readonly<Record<string, unknown>>,
  options: {
    readonly resource: string;
    readonly changes: readonly AuditEntry[];
    readonly retries: string;
    readonly timing: Pick<TimingWords, 'schedule' | 'hours' | 'whileFailing'>;
    readonly now: number;
  },
): Content {
  const { resource, changes, retries, timing, now } = options;
  const { request } = check;
  const url = typeof request === 'object' && request !== null && 'url' in request ? String(request.url) : '';
  const tags = Array.isArray(check['tags']) ? (check['tags'] as string[]) : [];
  const id = String(check['id']);
  const rows: (readonly [name: string, value: Content])[] = [
    ['Address', url === '' ? '' : html`<code>${visible(shortened(url, 400))}</code>`],
    [
      'Tags',
      tags.map(
        (tag) => html`<a class="tag" href="${withQuery('/', { tag })}">${visible(shortened(tag, 40))}</a> `,
      ),
    ],
    ['Schedule', timing.schedule],
    ['Hours', timing.hours],
    ['Runs while failing', timing.whileFailing],
    ['Retries', retries],
    ['Degraded over', limitWords(check['degradedResponseTime'])],
    ['Fails over', limitWords(check['maxResponseTime'])],
    [
      'Changed',
      typeof check['updated_at'] === 'string'
        ? html`${instant(check['updated_at'])}${lastAuthor(changes)}`
        : '',
    ],
    ['Id', copyable(id, 'the id of the check')],
  ];
  const given = rows.filter(([, value]) => value !== '' && !(Array.isArray(value) && value.length === 0));
  return section(
    'Configuration',
    html`<dl class="fact-rows">${given.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>${changeList(resource, changes, now)}<details><summary>JSON</summary>${block('Definition of the check', JSON.stringify(check, null, 2))}</details>`,
    'configuration',
  );
}

function limitWords(value: unknown): string {
  return typeof value === 'number' ? duration(value) : '';
}

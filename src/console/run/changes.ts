import { type AuditEntry, auditLogRoutes } from '@picket/protocol/accounts/audit-log.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { counted, duration, shortened } from '../elements/format.ts';
import { section, visible } from '../elements/text.ts';
import { what } from '../history/entry.ts';
import { type Content, type Html, html, path, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import { factsOf } from './compare-facts.ts';
import { type Difference, differencesOf } from './differences.ts';
import { leftOutNotice } from './parts.ts';

/** One line of a short comparison. */
export interface Change {
  readonly name: string;
  readonly before: string | null;
  readonly now: string | null;
  /** In place of both values: many lines of a text that differ. */
  readonly note?: string;
}

const [shownChanges, shownEntries, shownNames] = [8, 5, 4];

/** Whether a difference is summed up with others of its group. */
function isMany({ kind }: Difference): boolean {
  return kind === 'header' || kind === 'text';
}

/**
 * Shortens a comparison of two runs: single values in the order of the page, and texts and headers as the number of
 * their differences. The failure itself is omitted: it is in the heading.
 */
export function shortChanges(all: readonly Difference[]): Change[] {
  const different = all.filter(
    ({ isDifferent, isVolatile, kind }) => isDifferent && !isVolatile && kind !== 'failure',
  );
  const [many, single] = [different.filter(isMany), different.filter((one) => !isMany(one))];
  return [
    ...single.map(({ group, name, before, now }) => ({ name: changeName(group, name), before, now })),
    ...[...Map.groupBy(many, ({ group }) => group)].map(([group, rows]) => ({
      ...{ name: group, before: null, now: null },
      note: rows[0]?.kind === 'header' ? headerNote(rows) : 'differs',
    })),
  ];
}

function changeName(group: string, name: string): string {
  if (group === 'Run' || group === 'Time') return name;
  return name === '' ? group : `${group}: ${name}`;
}

function headerNote(rows: readonly Difference[]): string {
  const names = rows.slice(0, shownNames).map(({ name }) => name);
  return `${names.join(', ')}${rows.length > shownNames ? ` and ${rows.length - shownNames} more` : ''}`;
}

/** Shows the differences to the last run that passed, and the changes of the check in between. */
export async function changeSection(call: PageCall, now: CheckResult, before: CheckResult): Promise<Html> {
  const { checkId, id } = now;
  const compareHref = path`/checks/${checkId}/runs/${id}/compare`;
  const changes = shortChanges(differencesOf(factsOf(now), factsOf(before)));
  const edits = await editsBetween(call, before, now);
  const passedAt = Date.parse(before.startedAt ?? before.created_at);
  const failedAt = Date.parse(now.startedAt ?? now.created_at);
  const rest = changes.length - shownChanges;
  return section(
    'Changes since the last pass',
    html`<p>The <a href="${path`/checks/${checkId}/runs/${before.id}`}">last pass</a> was ${duration(Math.max(0, failedAt - passedAt))} before${
      before.runLocation === now.runLocation ? '' : html`, at ${visible(before.runLocation)}`
    }, in ${duration(before.responseTime)}. <a href="${compareHref}">Compare with the last pass</a></p>
${leftOutNotice(before)}${
  changes.length === 0 && edits.length === 0
    ? html`<p class="soft">No significant difference, apart from the failure.</p>`
    : html`<dl class="changed">${edits.map((entry) => editRow(entry, failedAt))}${changes.slice(0, shownChanges).map(changeRow)}</dl>`
}${rest > 0 ? html`<p class="hint"><a href="${compareHref}">${counted(rest, 'more difference')}</a></p>` : ''}`,
    'changes',
  );
}

function changeRow({ name, before, now, note }: Change): Html {
  return html`<div><dt>${visible(shortened(name, 120))}</dt><dd>${
    note === undefined
      ? html`<del>${side(before)}</del> <ins>${side(now)}</ins>`
      : html`<span class="soft">${visible(shortened(note, 200))}</span>`
  }</dd></div>`;
}

function side(value: string | null): Content {
  return value === null || value === '' ? 'none' : visible(shortened(value, 160));
}

/** Changes of the check's definition between two runs, as far as the viewer may see them. */
async function editsBetween(
  { api }: PageCall,
  { checkId, startedAt, created_at: createdAt }: CheckResult,
  now: CheckResult,
): Promise<AuditEntry[]> {
  const { entries } = await api.call(auditLogRoutes.listAuditLog, {
    query: {
      resource: `checks/${checkId}`,
      from: startedAt ?? createdAt,
      to: now.startedAt ?? now.created_at,
      limit: shownEntries,
    },
  });
  return entries.filter(({ outcome, before, after, secrets }) => {
    const isEdit = before !== null || after !== null || secrets.length > 0;
    return outcome === 'DONE' && isEdit;
  });
}

function editRow(entry: AuditEntry, failedAt: number): Html {
  const { created_at: at, actor, before, after, secrets, resource } = entry;
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {}), ...secrets])];
  const names = fields.slice(0, shownNames).join(', ');
  const more = fields.length > shownNames ? ` and ${fields.length - shownNames} more` : '';
  return html`<div><dt>Definition</dt><dd>${what(entry)}: <code>${names}${more}</code> by <b>${visible(shortened(actor.name, 80))}</b> <span class="soft">${duration(Math.max(0, failedAt - Date.parse(at)))} before this run</span> <a href="${withQuery('/account/audit', { resource: resource ?? undefined })}">History</a></dd></div>`;
}

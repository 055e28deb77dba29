import { type AuditEntry, auditLogRoutes } from '@picket/protocol/accounts/audit-log.ts';
import { ago, shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html, withQuery } from '../html.ts';
import type { PageCall } from '../page.ts';
import { changes, what, who } from './entry.ts';

const shownChanges = 5;

/** Returns the last changes of a resource, newest first, as far as the viewer may see them. */
export async function lastChangesOf({ api }: PageCall, resource: string): Promise<AuditEntry[]> {
  const { entries } = await api.call(auditLogRoutes.listAuditLog, {
    query: { resource, limit: shownChanges },
  });
  return entries;
}

/** Names the author of the last change; empty if the audit log no longer has it. */
export function lastAuthor([last]: readonly AuditEntry[]): Content {
  return last === undefined ? '' : html` by ${visible(shortened(last.actor.name, 80))}`;
}

/** Lists recent changes with their authors, folded, and a link to the rest. */
export function changeList(resource: string, entries: readonly AuditEntry[], now: number): Html | '' {
  if (entries.length === 0) return '';
  return html`<details class="last-changes"><summary>Recent changes</summary><ol>${entries.map(
    (entry) =>
      html`<li><p>${ago(Date.parse(entry.created_at), now)}: ${what(entry)}, by ${who(entry.actor, null)}</p>${changes(entry)}</li>`,
  )}</ol><p><a class="small" href="${withQuery('/account/audit', { resource })}">Full history</a></p></details>`;
}

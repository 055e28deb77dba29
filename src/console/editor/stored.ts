import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { ago, shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

/** A check, a group or a part of one as the API shows it. */
export type Entry = Readonly<Record<string, unknown>>;

/** @throws AppError NOT_FOUND. */
export async function storedCheck({ api }: PageCall, id: string): Promise<Entry> {
  return api.call(checkRoutes.getCheck, { params: { id } });
}

export function typeOf(check: Entry): CheckType {
  const type = findCheckType(String(check['checkType']));
  if (!type)
    throw new AppError('NOT_FOUND', 'This version of Picket does not support the type of this check.');
  return type;
}

/** What is to be said of fields of something, by their names. */
export function notesOf(stored: Entry): ReadonlyMap<string, string> {
  const warnings = (stored['warnings'] ?? []) as readonly Warning[];
  return new Map(warnings.flatMap(({ field, message }) => (field === undefined ? [] : [[field, message]])));
}

/** Which version of something a form is of. */
export function versionOf(stored: Entry): string {
  return String(stored['updated_at'] ?? stored['created_at']);
}

/** What was looked for; undefined when it is not there any more. */
export async function ifThere<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}

/** What is stored now where it is not what was typed. */
export function overtaken({ clock }: PageCall, stored: Entry, changes: Entry): Html {
  const rows = Object.keys(changes).map((key) => {
    const text = JSON.stringify(stored[key]) ?? 'nothing';
    return html`<li><b>${key}</b> is stored as <code>${visible(shortened(text, 300))}</code></li>`;
  });
  return html`<p>Another user changed this ${changedAt(stored, clock.wallMs())} after you opened it. Your input is kept below but is not saved. Saving again overwrites these stored values:</p><ul>${rows}</ul>`;
}

/** When something was changed for the last time. */
export function changedAt(stored: Entry, now: number): Html {
  return ago(Date.parse(versionOf(stored)), now);
}

import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import { ago, shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';
import type { PageCall } from '../page.ts';

/** A check, a group or a part of one as shown by the API. */
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

/** Returns the warnings that forms show at a hidden value, by field name. */
export function notesOf(stored: Entry): ReadonlyMap<string, string> {
  return new Map(
    warningsIn(stored).flatMap((warning) =>
      isNote(warning) && warning.field !== undefined ? [[warning.field, warning.message]] : [],
    ),
  );
}

/** Shows the other warnings above the form. */
export function warningNotices(stored: Entry): Html {
  const others = warningsIn(stored).filter((warning) => !isNote(warning));
  return html`${others.map(({ message }) => html`<p class="notice">${message}</p>`)}`;
}

function warningsIn(stored: Entry): readonly Warning[] {
  return (stored['warnings'] ?? []) as readonly Warning[];
}

function isNote({ code }: Warning): boolean {
  return code === 'NOT_MASKED';
}

/** Returns the version that a form is based on. */
export function versionOf(stored: Entry): string {
  return String(stored['updated_at'] ?? stored['created_at']);
}

/** Awaits a lookup; undefined if the object no longer exists. */
export async function ifThere<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}

/** Shows the stored values that differ from the entered ones. */
export function overtaken({ clock }: PageCall, stored: Entry, changes: Entry): Html {
  const rows = Object.keys(changes).map((key) => {
    const text = JSON.stringify(stored[key]) ?? 'nothing';
    return html`<li><b>${key}</b> is stored as <code>${visible(shortened(text, 300))}</code></li>`;
  });
  return html`<p>Another user changed this ${changedAt(stored, clock.wallMs())} after you opened it. Your input is kept below but is not saved. Saving again overwrites these stored values:</p><ul>${rows}</ul>`;
}

/** Shows the time of the last change. */
export function changedAt(stored: Entry, now: number): Html {
  return ago(Date.parse(versionOf(stored)), now);
}

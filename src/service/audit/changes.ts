import { isDeepStrictEqual } from 'node:util';
import { isCredentialHeader, mask } from '@picket/checks/judging/credential-headers.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { withoutPassword } from '@picket/lib/text.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';

type Json = Readonly<Record<string, unknown>>;

/** Changes made by a write, limited to values that users may see. */
export interface Changes {
  readonly before: Json | null;
  readonly after: Json | null;
  /** Fields that were written and are never shown. */
  readonly secrets: readonly string[];
}

export const noChanges: Changes = { before: null, after: null, secrets: [] };

/** Changes of an entry as any build stored them. */
export const storedChanges = storedValue<Changes>('audit_log.changes', noChanges);

/** Fields that do not reflect a user's intended change. */
const ownFields = new Set(['updated_at', 'updatedAt', 'warnings', 'state', 'lastUsedAt']);
const longestText = 2_000;
const largestBytes = 64 * 1024;

/**
 * Fields in which two views of a resource differ. Views are API responses to a read-only user, so values that the API
 * never shows are in neither; fields whose names suggest a secret are masked as well.
 *
 * @param before null if the resource did not exist, and `after` if it no longer exists.
 * @param written the request body: values that it contains and `after` does not show were secrets.
 */
export function changesOf(before: Json | null, after: Json | null, written: unknown): Changes {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changed = [...names].filter(
    (name) => !ownFields.has(name) && !isDeepStrictEqual(before?.[name], after?.[name]),
  );
  return {
    before: before && shown(before, changed),
    after: after && shown(after, changed),
    secrets: after && isRecord(written) ? hiddenPaths(written, after) : [],
  };
}

/** A response that shows something once, in the form that may be kept. */
export function keptAnswer(answer: unknown): Json | null {
  return isRecord(answer) ? shown(answer, Object.keys(answer)) : null;
}

function shown(view: Json, names: readonly string[]): Json {
  const kept = Object.fromEntries(
    names.filter((name) => name in view).map((name) => [name, masked(view[name], name)]),
  );
  if (Buffer.byteLength(JSON.stringify(kept)) <= largestBytes) return kept;
  return Object.fromEntries(Object.keys(kept).map((name) => [name, 'too large for the audit log']));
}

/** Names are split at word boundaries: `accessToken`, `api_key`. */
const secretWords = /^(pass(word|phrase|wd)?|secrets?|tokens?|credentials?|signature)$/;
const secretNames = /(^|[_-])(raw|api|private|service|integration|routing|access|signing)[_-]?key$/;

function isSecretName(name: string): boolean {
  if (secretNames.test(name.toLowerCase())) return true;
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+/).some((word) => secretWords.test(word.toLowerCase()));
}

function masked(value: unknown, name: string): unknown {
  if (typeof value === 'string')
    return isSecretName(name) ? hidden(value) : shortened(withoutPassword(value));
  if (Array.isArray(value)) return value.map((item) => masked(item, name));
  if (!isRecord(value)) return value;
  // Headers and parameters are lists of `{key, value}`.
  const { key } = value;
  const isSecretEntry = typeof key === 'string' && (isCredentialHeader(key) || isSecretName(key));
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [
      field,
      isSecretEntry && field === 'value' && typeof one === 'string' ? hidden(one) : masked(one, field),
    ]),
  );
}

const hidden = (text: string) => (text === '' ? '' : mask);

function shortened(text: string): string {
  if (text.length <= longestText) return text;
  const rest = text.length - longestText;
  return `${text.slice(0, longestText).toWellFormed()}… and ${rest} more characters`;
}

/** Paths where a body contains text, but the resulting view an empty string. */
function hiddenPaths(written: unknown, view: unknown, path: readonly string[] = []): string[] {
  if (typeof written === 'string') return written !== '' && view === '' ? [path.join('.')] : [];
  if (typeof written !== 'object' || written === null || typeof view !== 'object' || view === null) return [];
  return Object.entries(written)
    .flatMap(([name, value]) => hiddenPaths(value, (view as Json)[name], [...path, name]))
    .slice(0, 100);
}

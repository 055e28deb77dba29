import { AppError } from '@picket/lib/errors.ts';
import type { CallRequest } from '@picket/platform/feature/exchange.ts';
import { iso } from '@picket/platform/feature/handler.ts';
import { createKey, hashKey } from '@picket/platform/ids/keys.ts';
import type { PageKey } from '@picket/protocol/pages/page-fields.ts';
import type { PageKeyRow } from './tables.ts';

type Privacy = { readonly is_private: 0 | 1 };

/** Storage of the keys of one kind of page. */
interface KeyStore<Id> {
  insertKey(id: Id, keyHash: string, masked: string, now: number): Promise<unknown>;
  deleteKeys(id: Id): Promise<void>;
}

/**
 * Creates a key for a page that becomes private, and deletes the keys of one that becomes public. Returns the new key.
 *
 * @param before undefined for a new page.
 */
export async function changeKeys<Id>(
  keys: KeyStore<Id>,
  prefix: 'da_' | 'sp_',
  {
    before,
    after,
    now,
  }: {
    readonly before: Privacy | undefined;
    readonly after: Privacy & { readonly id: Id };
    readonly now: number;
  },
): Promise<string | undefined> {
  if ((before?.is_private ?? 0) === after.is_private) return undefined;
  await keys.deleteKeys(after.id);
  if (after.is_private === 0) return undefined;
  const key = createKey(prefix);
  await keys.insertKey(after.id, key.keyHash, key.masked, now);
  return key.rawKey;
}

/** Key of a request: the bearer token, or else the one in its URL. */
export function keyOf(
  { headers }: Pick<CallRequest, 'headers'>,
  inAddress: string | undefined,
): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? inAddress;
}

/** @throws AppError BAD_TOKEN if the key matches none of the hashes. */
export function requireKey(
  noun: 'dashboard' | 'status page',
  hashes: readonly string[],
  rawKey: string | undefined,
): void {
  if (rawKey !== undefined && hashes.includes(hashKey(rawKey))) return;
  throw new AppError(
    'BAD_TOKEN',
    `Bad Token: the ${noun} is private. Send one of its keys as "Authorization: Bearer <key>" or as ?key=.`,
  );
}

/** Keys as responses show them. `rawKey` is given if the key was just created: it is never shown again. */
export function keyViews(keys: readonly PageKeyRow[], rawKey?: string): PageKey[] {
  return keys.map(({ id, masked, created }) => ({
    id,
    rawKey: rawKey ?? masked,
    maskedKey: masked,
    created_at: iso(created),
    updated_at: null,
  }));
}

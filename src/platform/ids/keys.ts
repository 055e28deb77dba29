import { createHash, randomBytes } from 'node:crypto';
import { Role } from '@picket/protocol/accounts/role.ts';

/** A new key: the text that is shown once, and what is stored of it. */
export interface FreshKey {
  readonly rawKey: string;
  readonly keyHash: string;
  readonly masked: string;
}

/**
 * Keys of locations start with `pl_`, of accounts with `ak_`, of dashboards with `da_`, of status
 * pages with `sp_`; 32 hex digits follow (128 random bits).
 */
export function createKey(prefix: 'pl_' | 'ak_' | 'da_' | 'sp_'): FreshKey {
  return describeKey(`${prefix}${randomBytes(16).toString('hex')}`);
}

/** What is stored of a key that was chosen elsewhere. */
export function describeKey(rawKey: string): FreshKey {
  return { rawKey, keyHash: hashKey(rawKey), masked: `...${rawKey.slice(-4)}` };
}

/** Keys are random, so a plain digest is enough: there is no dictionary to try. */
export function hashKey(rawKey: string): string {
  return createHash('sha256').update(rawKey).digest('hex');
}

/** What an API key or a member may do. */
export const keyRoles = Role.options;
export type KeyRole = Role;

/** How much a role may: more than every role with a lower rank. */
export const ranks: Readonly<Record<KeyRole, number>> = {
  READ_ONLY: 0,
  READ_RUN: 1,
  READ_WRITE: 2,
  ADMIN: 3,
};

export function higherRole(left: KeyRole | null, right: KeyRole | null): KeyRole | null {
  if (left === null || right === null) return left ?? right;
  return ranks[left] >= ranks[right] ? left : right;
}

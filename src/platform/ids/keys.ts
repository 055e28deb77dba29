import { createHash, randomBytes } from 'node:crypto';
import { Role } from '@picket/protocol/accounts/role.ts';

/** A new key: the text that is shown once, and its stored form. */
export interface FreshKey {
  readonly rawKey: string;
  readonly keyHash: string;
  readonly masked: string;
}

/**
 * Creates a key. Keys of locations start with `pl_`, of accounts with `ak_`, of dashboards with `da_`, of status pages
 * with `sp_`; 32 hex digits follow (128 random bits).
 */
export function createKey(prefix: 'pl_' | 'ak_' | 'da_' | 'sp_'): FreshKey {
  return describeKey(`${prefix}${randomBytes(16).toString('hex')}`);
}

/** Returns the stored form of a key that was chosen elsewhere. */
export function describeKey(rawKey: string): FreshKey {
  return { rawKey, keyHash: hashKey(rawKey), masked: `...${rawKey.slice(-4)}` };
}

/** Keys are random, so a plain digest is enough: dictionary attacks do not apply. */
export function hashKey(rawKey: string): string {
  return createHash('sha256').update(rawKey).digest('hex');
}

/** Roles of API keys and members. */
export const keyRoles = Role.options;
export type KeyRole = Role;

/** Rank of each role: it includes the permissions of every lower rank. */
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

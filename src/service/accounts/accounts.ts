import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { makeFolders } from '@picket/lib/process/make-folders.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { createKey, describeKey } from '@picket/platform/ids/keys.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';

/** Creates an account. */
export async function addAccount(
  store: Pick<Repositories, 'accounts'>,
  clock: Clock,
  name: string,
): Promise<{ accountId: string }> {
  const account = await store.accounts.add(name, clock.wallMs());
  return { accountId: account.id };
}

export interface ListedAccount {
  readonly accountId: string;
  readonly name: string;
  readonly keyCount: number;
  readonly createdAt: string;
}

/** All accounts, oldest first. */
export async function listAccounts(store: Pick<Repositories, 'accounts'>): Promise<ListedAccount[]> {
  return (await store.accounts.list()).map(({ id, name, keys, created }) => ({
    accountId: id,
    name,
    keyCount: Number(keys),
    createdAt: new Date(created).toISOString(),
  }));
}

/**
 * Creates an API key for an account. The raw key is returned once and cannot be read again.
 *
 * @throws AppError NOT_FOUND if the account does not exist.
 */
export async function addKey(
  store: Pick<Repositories, 'accounts'>,
  clock: Clock,
  key: { readonly accountId: string; readonly name: string; readonly role: KeyRole },
): Promise<{ keyId: string; rawKey: string }> {
  if (!(await store.accounts.find(key.accountId))) {
    throw new AppError('NOT_FOUND', `There is no account ${key.accountId}.`);
  }
  const { rawKey, keyHash, masked } = createKey('ak_');
  const row = await store.accounts.addKey(
    key.accountId,
    { name: key.name, role: key.role, keyHash, masked },
    clock.wallMs(),
  );
  return { keyId: row.id, rawKey };
}

/**
 * API keys of an account, without the raw keys, which are not stored.
 *
 * @throws AppError NOT_FOUND if the account does not exist.
 */
export async function listKeys(
  store: Pick<Repositories, 'accounts'>,
  accountId: string,
): Promise<ListedKey[]> {
  if (!(await store.accounts.find(accountId))) {
    throw new AppError('NOT_FOUND', `There is no account ${accountId}.`);
  }
  const rows = await store.accounts.keys(accountId);
  return rows.map(({ id, name, role, masked, created, last_used: used }) => ({
    keyId: id,
    name,
    role,
    maskedKey: masked,
    createdAt: new Date(created).toISOString(),
    lastUsedAt: used === null ? null : new Date(used).toISOString(),
  }));
}

export interface ListedKey {
  readonly keyId: string;
  readonly name: string;
  readonly role: KeyRole;
  readonly maskedKey: string;
  readonly createdAt: string;
  /** With a resolution of one minute; null before its first use. */
  readonly lastUsedAt: string | null;
}

/**
 * Deletes an API key; requests with it are rejected from then on.
 *
 * @throws AppError NOT_FOUND if the key does not exist.
 */
export async function deleteKey(store: Pick<Repositories, 'accounts'>, keyId: string): Promise<void> {
  if (!(await store.accounts.deleteKey(keyId))) {
    throw new AppError('NOT_FOUND', `There is no key ${keyId}.`);
  }
}

const bootstrapName = 'bootstrap';

/**
 * Ensures that the API is accessible. With BOOTSTRAP_API_KEY, that key exists (role ADMIN, first account) and replaces
 * the one that was set before; without it, an empty store gets an account and a random key in a file that only its
 * owner can read.
 */
export async function bootstrap(
  store: Pick<Store, 'transaction'>,
  clock: Clock,
  config: Pick<ServiceConfig, 'BOOTSTRAP_API_KEY' | 'DATA_DIR'>,
  logger: Logger,
): Promise<void> {
  const chosen = config.BOOTSTRAP_API_KEY;
  const now = clock.wallMs();
  const created = await store.transaction(async ({ accounts }) => {
    await accounts.lock();
    const first = await accounts.first();
    if (chosen === undefined && first) return null;
    const key = chosen === undefined ? createKey('ak_') : describeKey(chosen);
    if (await accounts.findKey(key.keyHash)) return null;
    const account = first ?? (await accounts.add('Default', now));
    // A key that was replaced in the configuration must stop working.
    if (chosen !== undefined) await accounts.deleteKeysNamed(account.id, bootstrapName);
    await accounts.addKey(
      account.id,
      {
        name: chosen === undefined ? 'first key' : bootstrapName,
        role: 'ADMIN',
        keyHash: key.keyHash,
        masked: key.masked,
      },
      now,
    );
    // Before the commit: an account whose only key was never shown could not be used or replaced.
    if (chosen === undefined) writeKeyFile(config.DATA_DIR, key.rawKey);
    return { accountId: account.id };
  });
  if (!created) return;
  if (chosen === undefined) {
    logger.info(
      { accountId: created.accountId, file: keyFile(config.DATA_DIR) },
      'created the first account; its API key is in the file',
    );
  } else {
    logger.info({ accountId: created.accountId }, 'added the API key from BOOTSTRAP_API_KEY');
  }
}

function keyFile(dataDir: string): string {
  return join(dataDir, 'api-key');
}

function writeKeyFile(dataDir: string, rawKey: string): void {
  makeFolders(dataDir);
  writeFileSync(keyFile(dataDir), `${rawKey}\n`, { mode: 0o600 });
  // The mode above applies only to a new file.
  chmodSync(keyFile(dataDir), 0o600);
}

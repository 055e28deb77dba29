import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createLogger } from '../lib/log.ts';
import { addAccount, addKey, deleteKey, listAccounts, listKeys } from '../service/accounts/accounts.ts';
import { readServiceConfig, type ServiceConfig } from '../service/config.ts';
import type { KeyRole } from '../service/ids/keys.ts';
import { openConfiguredStore } from '../service/service.ts';
import type { Store } from '../service/store.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface OutputOptions {
  readonly json?: boolean;
}

/** `picket service add-account NAME`: prints the id and the first key, which is shown this once. */
export async function addAccountCommand(
  environment: Environment,
  name: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store) => {
    const { accountId } = await addAccount(store, systemClock, name);
    const { rawKey } = await addKey(store, systemClock, { accountId, name: 'first key', role: 'ADMIN' });
    print({ accountId, apiKey: rawKey }, options);
  });
}

/** `picket service list-accounts`: prints the accounts, oldest first. */
export async function listAccountsCommand(environment: Environment, options: OutputOptions): Promise<void> {
  await withStore(environment, async (store) => {
    const accounts = await listAccounts(store);
    if (options.json) {
      console.log(JSON.stringify(accounts));
      return;
    }
    const rows = accounts.map((account) => [
      account.accountId,
      String(account.keyCount),
      account.createdAt,
      account.name,
    ]);
    for (const line of columns([['id', 'keys', 'created', 'name'], ...rows])) console.log(line);
  });
}

/** `picket service add-key --account ID --role ROLE`: prints the key, which is shown this once. */
export async function addKeyCommand(
  environment: Environment,
  options: OutputOptions & { readonly account: string; readonly role: KeyRole; readonly name: string },
): Promise<void> {
  const { account: accountId, role, name } = options;
  await withStore(environment, async (store) => {
    const { rawKey } = await addKey(store, systemClock, { accountId, name, role });
    print({ accountId, role, apiKey: rawKey }, options);
  });
}

/** `picket service list-keys --account ID`: prints the keys of an account, as far as they are stored. */
export async function listKeysCommand(
  environment: Environment,
  options: OutputOptions & { readonly account: string },
): Promise<void> {
  await withStore(environment, async (store) => {
    const keys = await listKeys(store, options.account);
    if (options.json) {
      console.log(JSON.stringify(keys));
      return;
    }
    const rows = keys.map((key) => [key.keyId, key.role, key.maskedKey, key.createdAt, key.name]);
    for (const line of columns([['id', 'role', 'key', 'created', 'name'], ...rows])) console.log(line);
  });
}

/** `picket service delete-key ID`: from then on requests with that key are refused. */
export async function deleteKeyCommand(
  environment: Environment,
  keyId: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store) => {
    await deleteKey(store, keyId);
    print({ deletedKeyId: keyId }, options);
  });
}

/** Rows of texts as lines, each column as wide as its widest text. */
function columns(rows: readonly (readonly string[])[]): string[] {
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(Math.max(...rows.map((other) => other[index]?.length ?? 0))))
      .join('  ')
      .trimEnd(),
  );
}

async function withStore(environment: Environment, work: (store: Store) => Promise<void>): Promise<void> {
  process.umask(0o077);
  const config = readServiceConfig(environment);
  requireDatabase(config);
  const store = await openConfiguredStore(config, createLogger('picket', 'error'));
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function print(values: Readonly<Record<string, string>>, options: OutputOptions): void {
  if (options.json) {
    console.log(JSON.stringify(values));
    return;
  }
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  for (const [name, value] of Object.entries(values)) console.log(`${name.padEnd(width)}  ${value}`);
}

/**
 * These commands speak of a service that is there: they make no database.
 *
 * @throws AppError CONFIG_INVALID
 */
function requireDatabase({ DATABASE_URL, DATA_DIR }: Pick<ServiceConfig, 'DATABASE_URL' | 'DATA_DIR'>): void {
  const path = join(DATA_DIR, 'picket.sqlite');
  if (DATABASE_URL !== undefined || existsSync(path)) return;
  throw new AppError(
    'CONFIG_INVALID',
    `DATA_DIR: there is no database ${path}. Set DATA_DIR, or DATABASE_URL, to what the service uses, and start the service once first.`,
  );
}

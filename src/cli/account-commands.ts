import { systemClock } from '@picket/lib/clock.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { addAccount, addKey, deleteKey, listAccounts, listKeys } from '@picket/service/accounts/accounts.ts';
import {
  columns,
  type Environment,
  type OutputOptions,
  print,
  recordCommand,
  withStore,
} from './store-command.ts';

/** `picket service add-account NAME`: prints the id and the first key, which is shown only once. */
export async function addAccountCommand(
  environment: Environment,
  name: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store) => {
    const { accountId } = await addAccount(store, systemClock, name);
    const { rawKey, keyId } = await addKey(store, systemClock, {
      accountId,
      name: 'first key',
      role: 'ADMIN',
    });
    const made = { resource: `accounts/${accountId}`, resourceName: name };
    await recordCommand(store, { accountId, operation: 'addAccount', ...made, after: { name, keyId } });
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

/** `picket service add-key --account ID --role ROLE`: prints the key, which is shown only once. */
export async function addKeyCommand(
  environment: Environment,
  options: OutputOptions & { readonly account: string; readonly role: KeyRole; readonly name: string },
): Promise<void> {
  const { account: accountId, role, name } = options;
  await withStore(environment, async (store) => {
    const { rawKey, keyId } = await addKey(store, systemClock, { accountId, name, role });
    const made = { resource: `api-keys/${keyId}`, resourceName: name };
    await recordCommand(store, { accountId, operation: 'createApiKey', ...made, after: { name, role } });
    print({ accountId, role, apiKey: rawKey }, options);
  });
}

/** `picket service list-keys --account ID`: prints the stored fields of an account's keys. */
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
    const rows = keys.map((key) => [
      key.keyId,
      key.role,
      key.maskedKey,
      key.createdAt,
      key.lastUsedAt ?? 'never',
      key.name,
    ]);
    const titles = ['id', 'role', 'key', 'created', 'last used', 'name'];
    for (const line of columns([titles, ...rows])) console.log(line);
  });
}

/** `picket service delete-key ID`: the service then refuses requests with that key. */
export async function deleteKeyCommand(
  environment: Environment,
  keyId: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store) => {
    const key = await store.accounts.keyById(keyId);
    await deleteKey(store, keyId);
    if (key) {
      const { account_id: accountId, name, role } = key;
      const gone = { resource: `api-keys/${keyId}`, resourceName: name, before: { name, role } };
      await recordCommand(store, { accountId, operation: 'deleteApiKey', ...gone });
    }
    print({ deletedKeyId: keyId }, options);
  });
}

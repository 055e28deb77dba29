import { randomUUID } from 'node:crypto';
import { AlertSettings } from '@picket/checks/contract/definition/common-fields.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import type { AccountRow, ApiKeyRow } from './tables.ts';

const alertSettings = storedJson('accounts.alert_settings', AlertSettings);

export interface NewKey {
  readonly name: string;
  readonly role: KeyRole;
  readonly keyHash: string;
  readonly masked: string;
}

/** Accounts and their API keys. Keys are stored as hashes only. */
export class Accounts extends Repository {
  async add(name: string, now: number): Promise<AccountRow> {
    const account = { id: randomUUID(), name, alert_settings: null, created: now };
    await this.db.insertInto('accounts').values(account).execute();
    return account;
  }

  /** The account that was created first, or undefined in an empty store. */
  async first(): Promise<AccountRow | undefined> {
    return this.db.selectFrom('accounts').selectAll().orderBy('created').orderBy('id').executeTakeFirst();
  }

  /** All accounts with the number of their keys, oldest first. */
  async list() {
    return this.db
      .selectFrom('accounts')
      .leftJoin('api_keys', 'api_keys.account_id', 'accounts.id')
      .select(['accounts.id', 'accounts.name', 'accounts.created'])
      .select((eb) => eb.fn.count<number>('api_keys.id').as('keys'))
      .groupBy(['accounts.id', 'accounts.name', 'accounts.created'])
      .orderBy('accounts.created')
      .orderBy('accounts.id')
      .execute();
  }

  async find(id: string): Promise<AccountRow | undefined> {
    return this.db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Stored alert settings of the given accounts; omits accounts that never wrote any. */
  async alertSettings(ids: readonly string[]): Promise<Map<string, unknown>> {
    const rows = await this.db
      .selectFrom('accounts')
      .select(['id', 'alert_settings'])
      .where(this.dialect.inList('id', [...new Set(ids)]))
      .execute();
    return new Map(
      rows.flatMap((row) =>
        row.alert_settings === null ? [] : [[row.id, alertSettings(row.alert_settings)] as const],
      ),
    );
  }

  async setAlertSettings(id: string, settings: unknown): Promise<void> {
    await this.db
      .updateTable('accounts')
      .set({ alert_settings: JSON.stringify(settings) })
      .where('id', '=', id)
      .execute();
  }

  async addKey(accountId: string, key: NewKey, now: number): Promise<ApiKeyRow> {
    const row: ApiKeyRow = {
      id: randomUUID(),
      account_id: accountId,
      name: key.name,
      role: key.role,
      key_hash: key.keyHash,
      masked: key.masked,
      created: now,
      last_used: null,
    };
    await this.db.insertInto('api_keys').values(row).execute();
    return row;
  }

  async findKey(keyHash: string): Promise<ApiKeyRow | undefined> {
    return this.db.selectFrom('api_keys').selectAll().where('key_hash', '=', keyHash).executeTakeFirst();
  }

  async recordUse(keyId: string, now: number): Promise<void> {
    await this.db.updateTable('api_keys').set({ last_used: now }).where('id', '=', keyId).execute();
  }

  /** The keys of an account, oldest first. */
  async keys(accountId: string): Promise<ApiKeyRow[]> {
    return this.db
      .selectFrom('api_keys')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('created')
      .orderBy('id')
      .execute();
  }

  async keyPage(accountId: string, page: Page): Promise<{ total: number; rows: ApiKeyRow[] }> {
    const keys = this.db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId);
    return readPage(keys.orderBy('created').orderBy('id'), page);
  }

  async keyOf(accountId: string, id: string): Promise<ApiKeyRow | undefined> {
    const keys = this.db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId);
    return keys.where('id', '=', id).executeTakeFirst();
  }

  async keyById(id: string): Promise<ApiKeyRow | undefined> {
    return this.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Must be called in a transaction: prevents concurrent changes of the account's administrators until it ends. */
  async lockAccount(id: string): Promise<void> {
    const account = this.db.selectFrom('accounts').select('id').where('id', '=', id);
    await account.modifyEnd(this.dialect.forUpdate).executeTakeFirst();
  }

  /** Returns whether the key existed. */
  async deleteKey(id: string): Promise<boolean> {
    const done = await this.db.deleteFrom('api_keys').where('id', '=', id).executeTakeFirst();
    return done.numDeletedRows > 0n;
  }

  /** Deletes the keys of an account with the given name. */
  async deleteKeysNamed(accountId: string, name: string): Promise<void> {
    await this.db
      .deleteFrom('api_keys')
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .execute();
  }

  /** Storage usage of an account. */
  async usage(accountId: string) {
    const checks = await this.db
      .selectFrom('checks')
      .select((eb) => [
        eb.fn.countAll<number>().as('all'),
        eb.fn.sum<number | null>('activated').as('active'),
      ])
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    const ids = this.db.selectFrom('checks').select('id').where('account_id', '=', accountId);
    const results = this.db.selectFrom('results').where('check_id', 'in', ids);
    const artifacts = await this.db
      .selectFrom('artifacts')
      .select((eb) => [
        eb.fn.countAll<number>().as('all'),
        eb.fn.sum<number | null>('size_bytes').as('bytes'),
      ])
      .where('check_id', 'in', ids)
      .where('state', '=', 'stored')
      .executeTakeFirst();
    const bundles = await this.db
      .selectFrom('code_bundles')
      .select((eb) => eb.fn.sum<number | null>('size_bytes').as('bytes'))
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    const countOf = async (table: 'private_locations' | 'members') => {
      const rows = this.db.selectFrom(table).where('account_id', '=', accountId);
      return Number((await rows.select((eb) => eb.fn.countAll().as('all')).executeTakeFirst())?.all ?? 0);
    };
    return {
      checks: Number(checks?.all ?? 0),
      activeChecks: Number(checks?.active ?? 0),
      privateLocations: await countOf('private_locations'),
      members: await countOf('members'),
      results: Number(
        (await results.select((eb) => eb.fn.countAll().as('all')).executeTakeFirst())?.all ?? 0,
      ),
      artifacts: Number(artifacts?.all ?? 0),
      artifactBytes: Number(artifacts?.bytes ?? 0),
      codeBundleBytes: Number(bundles?.bytes ?? 0),
    };
  }

  /** Must be called in a transaction: prevents other processes from creating a first account meanwhile. */
  async lock(): Promise<void> {
    await this.dialect.lockSchema(this.db);
  }
}

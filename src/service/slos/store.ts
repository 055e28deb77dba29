import type { Generated, Insertable } from 'kysely';
import type { SloDefinition } from '../../protocol/results/slo.ts';
import { CheckGroups } from '../checks/groups/store.ts';
import { Checks } from '../checks/store.ts';
import { fieldError } from '../http/validation.ts';
import { accountTable, type ChangedRow } from '../store/engine/account-table.ts';

/** A service level objective as it is stored. */
export interface SloRow {
  id: Generated<number>;
  account_id: string;
  definition: string;
  created: number;
  updated: number | null;
}

export interface StoredSlo {
  readonly id: number;
  readonly accountId: string;
  readonly definition: SloDefinition;
  readonly created: number;
  readonly updated: number | null;
}

/** Service level objectives. What they name exists when they are written; it may go later. */
export class Slos extends accountTable<SloRow, StoredSlo>((row) => ({
  id: row.id,
  accountId: row.account_id,
  definition: JSON.parse(row.definition) as SloDefinition,
  created: row.created,
  updated: row.updated,
}))({ name: 'slos', key: 'id' }) {
  override async insert(row: Insertable<SloRow>): Promise<StoredSlo> {
    await this.#requireSubject(row.account_id, row.definition);
    return super.insert(row);
  }

  override async update(row: ChangedRow<SloRow, 'id'>): Promise<StoredSlo | undefined> {
    if (row.definition !== undefined) await this.#requireSubject(row.account_id, row.definition);
    return super.update(row);
  }

  /** @throws AppError VALIDATION_FAILED when the account has no such check or group. */
  async #requireSubject(accountId: string, definition: string): Promise<void> {
    const { checkId, groupId } = JSON.parse(definition) as SloDefinition;
    if (checkId !== null && !(await new Checks(this.db, this.dialect).find(accountId, checkId))) {
      throw fieldError('payload', [{ key: 'checkId', message: `names no check: ${checkId}` }]);
    }
    if (groupId === null) return;
    const group = (await new CheckGroups(this.db, this.dialect).findMany([groupId])).get(groupId);
    if (group?.accountId !== accountId) {
      throw fieldError('payload', [{ key: 'groupId', message: `names no check group: ${groupId}` }]);
    }
  }
}

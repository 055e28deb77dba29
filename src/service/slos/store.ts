import { fieldError } from '@picket/platform/http/validation.ts';
import { accountTable, type ChangedRow } from '@picket/platform/store/engine/account-table.ts';
import { storedJson } from '@picket/platform/store/stored-json.ts';
import { type SloDefinition, SloInput } from '@picket/protocol/results/slo.ts';
import type { Insertable } from 'kysely';
import { AlertChannels } from '../alerts/channels/store.ts';
import { CheckGroups } from '../checks/groups/store.ts';
import { Checks } from '../checks/store.ts';
import type { SloRow } from './tables.ts';

export interface StoredSlo {
  readonly id: number;
  readonly accountId: string;
  readonly definition: SloDefinition;
  readonly created: number;
  readonly updated: number | null;
}

const definitionOf = storedJson('slos.definition', SloInput);

/** Service level objectives. The objects they name exist when they are written, but may be deleted later. */
export class Slos extends accountTable<SloRow, StoredSlo>((row) => ({
  id: row.id,
  accountId: row.account_id,
  definition: definitionOf(row.definition),
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

  /** Objectives of all accounts after the given id, in order of id. */
  async behind(after: number, limit: number): Promise<StoredSlo[]> {
    const rows = await this.db
      .selectFrom('slos')
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map((row) => this.shape.read(row));
  }

  /** @throws AppError VALIDATION_FAILED if the account has no such check, group or channel. */
  async #requireSubject(accountId: string, definition: string): Promise<void> {
    const { checkId, groupId, alertChannelIds } = definitionOf(definition);
    if (alertChannelIds.length > 0) {
      const channels = await new AlertChannels(this.db, this.dialect).all(accountId);
      const unknown = alertChannelIds.filter((id) => !channels.some((channel) => channel.id === id));
      if (unknown.length > 0) {
        const message = `names no alert channel: ${unknown.join(', ')}`;
        throw fieldError('payload', [{ key: 'alertChannelIds', message }]);
      }
    }
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

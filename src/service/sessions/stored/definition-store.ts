import { batches } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { CheckGroup } from '../../checks/groups/store.ts';
import { groupDefinition } from '../../checks/groups/store.ts';
import type { Check } from '../../checks/store.ts';
import { checkDefinition } from '../../checks/stored-definition.ts';
import { notPlanned } from '../../checks/timing/slot-state.ts';
import type { TestDefinitionRow } from './tables.ts';

/** A definition that a test session runs like a check, with the settings of its group. */
export interface TestDefinition {
  readonly check: Check;
  readonly group: CheckGroup | undefined;
}

/** Definitions that are not checks: runs and results of test sessions refer to them in place of a check. */
export class TestDefinitions extends Repository {
  async insert(rows: readonly TestDefinitionRow[]): Promise<void> {
    for (const batch of batches(rows)) await this.db.insertInto('test_definitions').values(batch).execute();
  }

  /** The given ids that are definitions, by id. */
  async findMany(ids: readonly string[]): Promise<Map<string, TestDefinition>> {
    const wanted = [...new Set(ids)];
    if (wanted.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('test_definitions')
      .selectAll()
      .where(this.dialect.inList('id', wanted))
      .execute();
    return new Map(rows.map((row) => [row.id, fromRow(row)]));
  }
}

export function fromRow(row: TestDefinitionRow): TestDefinition {
  const { id, account_id: accountId, created } = row;
  const check: Check = {
    id,
    accountId,
    groupId: null,
    name: row.name,
    checkType: row.check_type,
    activated: true,
    definition: checkDefinition(row.check_type, row.definition),
    created,
    updated: null,
    slots: notPlanned,
  };
  const group =
    row.group_definition === null
      ? undefined
      : {
          id: 0,
          accountId,
          definition: groupDefinition(row.group_definition),
          created,
          updated: null,
        };
  return { check, group };
}

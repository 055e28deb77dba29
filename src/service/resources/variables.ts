import { fieldError } from '@picket/platform/http/validation.ts';
import { accountTable } from '@picket/platform/store/engine/account-table.ts';
import { type VariableInput, type VariablePatch, variableApi } from '@picket/protocol/checks/variable.ts';
import { weakSecret } from '@picket/protocol/http/weak-secrets.ts';
import type { z } from 'zod';
import { defineResource } from './resource.ts';

export interface VariableRow {
  account_id: string;
  key: string;
  value: string;
  locked: 0 | 1;
  secret: 0 | 1;
  /** Name of the secret of locations that is the value; null for a value of its own. */
  value_from: string | null;
  created: number;
  updated: number | null;
}

/**
 * Variables of an account. Locked or secret values are accepted and never returned. Their table is created by
 * `0005-account-resources`.
 */
export const variables = defineResource(
  variableApi,
  accountTable<VariableRow>()({ name: 'variables', key: 'key', order: [['key', 'asc']] }),
)({
  columns: ({ key, value, valueFrom, locked, secret }) => {
    if (valueFrom !== null && value !== '') {
      const message = `must be "" with valueFrom: the value is at the location`;
      throw fieldError('payload', [{ key: 'value', message }]);
    }
    return { key, value, value_from: valueFrom, locked: locked ? 1 : 0, secret: secret ? 1 : 0 };
  },
  merge,
  view: (row) => ({
    id: row.key,
    key: row.key,
    value: isHidden(row) ? '' : row.value,
    valueFrom: row.value_from,
    locked: row.locked === 1,
    secret: row.secret === 1,
    warnings:
      isHidden(row) && row.value_from === null
        ? weakSecret({ field: 'value', name: row.key, value: row.value })
        : [],
  }),
});

/**
 * No change reveals a hidden value: a secret stays secret, and unlocking a variable requires a new value.
 *
 * @throws AppError VALIDATION_FAILED, naming each field that cannot change this way.
 */
function merge(
  stored: VariableRow,
  change: z.output<typeof VariablePatch.schema>,
): z.output<typeof VariableInput.schema> {
  const problems: { key: string; message: string }[] = [];
  if (change.key !== undefined && change.key !== stored.key) {
    problems.push({ key: 'key', message: `cannot change: it is "${stored.key}"` });
  }
  if (stored.secret === 1 && change.secret === false) {
    problems.push({ key: 'secret', message: 'cannot become false: delete the variable and create it again' });
  }
  const secret = change.secret ?? stored.secret === 1;
  const locked = change.locked ?? stored.locked === 1;
  // Responses show a hidden value as "": writing that back keeps the value.
  const isValueKept = change.value === undefined || (change.value === '' && isHidden(stored));
  const valueFrom = change.valueFrom === undefined ? stored.value_from : change.valueFrom;
  if (stored.value_from !== null && valueFrom === null && change.value === undefined) {
    problems.push({ key: 'value', message: 'is required when valueFrom becomes null' });
  }
  if (
    isHidden(stored) &&
    stored.value_from === null &&
    valueFrom === null &&
    !secret &&
    !locked &&
    isValueKept
  ) {
    problems.push({ key: 'value', message: 'is required when a locked variable is unlocked' });
  }
  if (problems.length > 0) throw fieldError('payload', problems);
  if (valueFrom !== null) {
    // Its own value is forgotten. One that the change names is refused.
    return { key: stored.key, value: change.value ?? '', valueFrom, locked, secret };
  }
  const value = isValueKept ? stored.value : (change.value ?? stored.value);
  return { key: stored.key, value, valueFrom, locked, secret };
}

function isHidden(row: VariableRow): boolean {
  return row.secret === 1 || row.locked === 1;
}

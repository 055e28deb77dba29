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
  created: number;
  updated: number | null;
}

/**
 * An account's variables. Values that are locked or secret are taken and never answered. Their table is made
 * by `0005-account-resources`.
 */
export const variables = defineResource(
  variableApi,
  accountTable<VariableRow>()({ name: 'variables', key: 'key', order: [['key', 'asc']] }),
)({
  columns: ({ key, value, locked, secret }) => ({
    key,
    value,
    locked: locked ? 1 : 0,
    secret: secret ? 1 : 0,
  }),
  merge,
  view: (row) => ({
    id: row.key,
    key: row.key,
    value: isHidden(row) ? '' : row.value,
    locked: row.locked === 1,
    secret: row.secret === 1,
    warnings: isHidden(row) ? weakSecret({ field: 'value', name: row.key, value: row.value }) : [],
  }),
});

/**
 * No change shows a value that was hidden: a secret stays one, and a locked value is left behind when it is
 * unlocked.
 *
 * @throws AppError VALIDATION_FAILED, naming each field that cannot change so.
 */
function merge(stored: VariableRow, change: z.output<typeof VariablePatch>): z.output<typeof VariableInput> {
  const problems: { key: string; message: string }[] = [];
  if (change.key !== undefined && change.key !== stored.key) {
    problems.push({ key: 'key', message: `cannot change: it is "${stored.key}"` });
  }
  if (stored.secret === 1 && change.secret === false) {
    problems.push({ key: 'secret', message: 'cannot become false: delete the variable and create it again' });
  }
  const secret = change.secret ?? stored.secret === 1;
  const locked = change.locked ?? stored.locked === 1;
  // "" is what answers show of a hidden value: written back it keeps the value.
  const isValueKept = change.value === undefined || (change.value === '' && isHidden(stored));
  if (isHidden(stored) && !secret && !locked && isValueKept) {
    problems.push({ key: 'value', message: 'is required when a locked variable is unlocked' });
  }
  if (problems.length > 0) throw fieldError('payload', problems);
  const value = isValueKept ? stored.value : (change.value ?? stored.value);
  return { key: stored.key, value, locked, secret };
}

function isHidden(row: VariableRow): boolean {
  return row.secret === 1 || row.locked === 1;
}

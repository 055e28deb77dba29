import { AppError } from '../../../lib/errors.ts';
import { variableRoutes } from '../../../protocol/checks/variable.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '../../http/handler.ts';
import { describePage, pageOffset } from '../../http/paging.ts';
import { fieldError } from '../../http/validation.ts';
import { isUniqueViolation } from '../../store/engine/dialect.ts';
import type { VariableRow } from '../tables.ts';

/** The routes of an account's variables. Values that are locked or secret are taken and never answered. */
export function variableHandlers({ store, clock, publicUrl }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(variableRoutes, {
    async listVariables({ caller, query, request, reply }) {
      const page = { limit: query.limit, offset: pageOffset(query) };
      const { rows, total } = await store.variables.list(caller.accountId, page);
      describePage(request, reply, { query, total, publicUrl });
      return rows.map(view);
    },
    async createVariable({ caller, body }) {
      const row: VariableRow = {
        account_id: caller.accountId,
        key: body.key,
        value: body.value,
        locked: body.locked ? 1 : 0,
        secret: body.secret ? 1 : 0,
        created: clock.wallMs(),
        updated: null,
      };
      try {
        await store.variables.insert(row);
      } catch (thrown) {
        if (!isUniqueViolation(thrown)) throw thrown;
        throw new AppError('CONFLICT', `There is a variable "${body.key}" already.`);
      }
      return view(row);
    },
    async getVariable({ caller, params }) {
      return view(found(await store.variables.find(caller.accountId, params.key), params.key));
    },
    async updateVariable({ caller, params, body }) {
      return store.transaction(async (repositories) => {
        const stored = found(
          await repositories.variables.findForUpdate(caller.accountId, params.key),
          params.key,
        );
        const changed = { ...changedRow(stored, body), updated: clock.wallMs() };
        await repositories.variables.update(changed);
        return view(changed);
      });
    },
    async deleteVariable({ caller, params }) {
      if (!(await store.variables.delete(caller.accountId, params.key))) throw notFound(params.key);
    },
  });
}

interface VariableChange {
  readonly key?: string | undefined;
  readonly value?: string | undefined;
  readonly locked?: boolean | undefined;
  readonly secret?: boolean | undefined;
}

/**
 * A variable with a partial body merged into it. No change shows a value that was hidden: a secret stays one, and a
 * locked value is left behind when it is unlocked.
 *
 * @throws AppError VALIDATION_FAILED, naming each field that cannot change so.
 */
function changedRow(stored: VariableRow, change: VariableChange): VariableRow {
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
  return {
    ...stored,
    value: isValueKept ? stored.value : (change.value ?? stored.value),
    locked: locked ? 1 : 0,
    secret: secret ? 1 : 0,
  };
}

function isHidden(row: VariableRow): boolean {
  return row.secret === 1 || row.locked === 1;
}

function notFound(key: string): AppError {
  return new AppError('NOT_FOUND', `There is no variable "${key}".`);
}

function found(row: VariableRow | undefined, key: string): VariableRow {
  if (!row) throw notFound(key);
  return row;
}

function view(row: VariableRow) {
  return {
    key: row.key,
    value: isHidden(row) ? '' : row.value,
    locked: row.locked === 1,
    secret: row.secret === 1,
    created_at: new Date(row.created).toISOString(),
    updated_at: row.updated === null ? null : new Date(row.updated).toISOString(),
  };
}

import { AppError } from '@picket/lib/errors.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  iso,
  optionalIso,
} from '@picket/platform/feature/handler.ts';
import { found, notFound } from '@picket/platform/http/known-names.ts';
import { describePage, type PageQuery, pageOffset } from '@picket/platform/http/paging.ts';
import { validationError } from '@picket/platform/http/validation.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import type { AccountRow, AccountTable } from '@picket/platform/store/engine/account-table.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import type { Page } from '@picket/platform/store/engine/queries.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { ResourceApi } from '@picket/protocol/http/resource.ts';
import { refuseMovedByVariable } from '../checks/addresses/address-values.ts';
import { resources } from './index.ts';

type Json = Readonly<Record<string, unknown>>;

/** A stored object of any resource. */
interface Stored {
  readonly created: number;
  readonly updated?: number | null;
}
interface AnyRow extends AccountRow {
  key: string;
}
type AnyTable = AccountTable<string, AnyRow, 'key', Stored>;

/** Any resource, without the type relations of its declaration. */
interface AnyResource {
  readonly api: ResourceApi;
  readonly newKey?: () => string;
  columns(input: Json, now: number, change?: { readonly stored: Stored; readonly table: AnyTable }): object;
  view(stored: Stored): object;
  merge?(stored: Stored, patch: Json): Json;
  list?(
    table: AnyTable,
    accountId: string,
    query: object,
    page: Page,
  ): Promise<{ total: number; rows: Stored[] }>;
}

/** A call of any operation of a resource. */
type ResourceCall = Pick<Call, 'request' | 'reply'> & {
  readonly caller: AccountCaller;
  readonly params: Json;
  readonly query: PageQuery;
  readonly body: Json;
};
type ResourceHandler = (call: ResourceCall) => Promise<unknown>;

/**
 * Rejects a change by its caller, in the transaction of the change.
 *
 * @param columns null if the object is deleted.
 */
type Refusal = (
  repositories: Repositories,
  caller: AccountCaller,
  key: string,
  columns: Json | null,
) => Promise<void>;

const refusals: Partial<Record<keyof typeof resources, Refusal>> = {
  variables: (repositories, caller, key, columns) =>
    refuseMovedByVariable(
      repositories,
      caller,
      key,
      columns && { value: String(columns.value), value_from: columns.value_from as string | null },
    ),
};

/** Handlers of all plain resources, by operationId. */
export function resourceHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  return Object.entries(resources).flatMap(([name, resource]) => {
    const handlers = handlersOf(name as keyof typeof resources, resource as unknown as AnyResource, deps);
    return handlers as unknown as [string, AnyHandler][];
  });
}

function handlersOf(
  name: keyof typeof resources,
  resource: AnyResource,
  { store, clock, publicUrl }: HandlerDeps,
): [string, ResourceHandler][] {
  const { api, columns, newKey } = resource;
  const refuse = refusals[name];
  const tableOf = (repositories: Pick<typeof store, typeof name>) =>
    repositories[name] as unknown as AnyTable;
  const table = tableOf(store);
  const keyIn = (values: Json) => values[api.keyName] as string;
  const named = (key: string) => `${api.noun} ${api.keyName === 'id' ? key : JSON.stringify(key)}`;
  const view = (stored: Stored) => ({
    ...resource.view(stored),
    created_at: iso(stored.created),
    updated_at: optionalIso(stored.updated ?? null),
  });
  const merge =
    resource.merge ?? ((stored: Stored, patch: Json) => mergedIntoShown(api, view(stored), patch));

  const list: ResourceHandler = async ({ caller, query, request, reply }) => {
    const page = { limit: query.limit, offset: pageOffset(query) };
    const { rows, total } = resource.list
      ? await resource.list(table, caller.accountId, query, page)
      : await table.list(caller.accountId, page);
    describePage(request, reply, { query, total, publicUrl });
    return rows.map(view);
  };
  const create: ResourceHandler = async ({ caller, body }) => {
    const now = clock.wallMs();
    const filled = await columns(body, now);
    const row = {
      ...(newKey ? { [table.shape.key]: newKey() } : {}),
      ...filled,
      account_id: caller.accountId,
      created: now,
      ...(api.patch ? { updated: null } : {}),
    };
    try {
      return view(
        await store.transaction(async (repositories) => {
          await refuse?.(repositories, caller, keyIn(body), filled as Json);
          return tableOf(repositories).insert(row as unknown as AnyRow);
        }),
      );
    } catch (thrown) {
      if (!api.isKeyChosen || !isUniqueViolation(thrown)) throw thrown;
      throw new AppError('CONFLICT', `There is a ${named(keyIn(body))} already.`);
    }
  };
  const get: ResourceHandler = async ({ caller, params }) => {
    const key = keyIn(params);
    return view(found(await table.find(caller.accountId, key), named(key)));
  };
  const update: ResourceHandler = ({ caller, params, body }) =>
    store.transaction(async (repositories) => {
      const [key, within] = [keyIn(params), tableOf(repositories)];
      const stored = found(await within.findForUpdate(caller.accountId, key), named(key));
      const now = clock.wallMs();
      const changes = await columns(merge(stored, body), now, { stored, table: within });
      await refuse?.(repositories, caller, key, changes as Json);
      const identity = { account_id: caller.accountId, [within.shape.key]: key };
      const changed = { ...changes, ...identity, updated: now };
      return view(found(await within.update(changed as unknown as AnyRow), named(key)));
    });
  const remove: ResourceHandler = async ({ caller, params }) => {
    const key = keyIn(params);
    const isGone = await store.transaction(async (repositories) => {
      const within = tableOf(repositories);
      if (refuse && (await within.findForUpdate(caller.accountId, key))) {
        await refuse(repositories, caller, key, null);
      }
      return within.delete(caller.accountId, key);
    });
    if (!isGone) throw notFound(named(key));
  };

  const { routes } = api;
  return [
    [routes.list.operationId, list],
    [routes.create.operationId, create],
    [routes.get.operationId, get],
    ...(routes.update ? [[routes.update.operationId, update] as [string, ResourceHandler]] : []),
    [routes.delete.operationId, remove],
  ];
}

/**
 * Merges a change into a resource as responses show it, and validates the result as a whole.
 *
 * @throws AppError VALIDATION_FAILED if the result is invalid.
 */
function mergedIntoShown({ input, mergedFields = [] }: ResourceApi, shown: Json, patch: Json): Json {
  const merged: Record<string, unknown> = { ...shown, ...patch };
  for (const name of mergedFields) {
    const [before, after] = [shown[name], patch[name]];
    if (isRecord(before) && isRecord(after)) merged[name] = { ...before, ...after };
  }
  const parsed = input.safeParse(merged);
  if (!parsed.success) throw validationError('payload', parsed.error.issues);
  return parsed.data as Json;
}

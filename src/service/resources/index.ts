import type { TableClass } from '@picket/platform/store/engine/account-table.ts';
import type { Migration } from '@picket/platform/store/schema/migrations.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import { certificates } from './client-certificates.ts';
import { windows } from './maintenance-windows.ts';
import { slos } from './slos.ts';
import { snippets } from './snippets.ts';
import { variables } from './variables.ts';

/**
 * Plain account resources, by the name of their repository in the store. The route table, the handlers, the store, the
 * schema and the conformance suites are derived from this list, in its order.
 */
export const resources = { windows, variables, snippets, certificates, slos };

/** Common properties of every resource, whatever its types. */
interface AnyResource {
  readonly api: { readonly routes: object };
  readonly table: TableClass<object>;
  readonly migrations?: readonly Migration[];
  readonly parts?: Readonly<Record<string, Route>>;
}
const all: Readonly<Record<string, AnyResource>> = resources;

export const resourceRoutes: readonly Route[] = Object.values(all).flatMap(({ api, parts }) => [
  ...Object.values(api.routes),
  ...Object.values(parts ?? {}),
]);

export const resourceMigrations = Object.values(all).flatMap(({ migrations }) => migrations ?? []);

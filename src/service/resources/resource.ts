import type { AccountTableShape, TableClass } from '@picket/platform/store/engine/account-table.ts';
import type { Page } from '@picket/platform/store/engine/queries.ts';
import type { Migration } from '@picket/platform/store/schema/migrations.ts';
import type { ResourceApi } from '@picket/protocol/http/resource.ts';
import type { Route } from '@picket/protocol/http/route.ts';
import type { Insertable } from 'kysely';
import type { z } from 'zod';

/** A repository at the type level. */
interface Shaped<Name extends string, Row, Key extends keyof Row & string, Stored> {
  readonly shape: AccountTableShape<Name, Row, Key, Stored>;
}
type RowOf<Table> = Table extends Shaped<string, infer Row, infer _Key, infer _Stored> ? Row : never;
type KeyOf<Table> = Table extends Shaped<string, infer _Row, infer Key, infer _Stored> ? Key : never;
type StoredOf<Table> = Table extends Shaped<string, infer _Row, infer _Key, infer Stored> ? Stored : never;
type PatchOf<Api> = Api extends { readonly patch: infer Patch extends z.ZodType } ? z.output<Patch> : never;
type FilterOf<Api> = Api extends { readonly filter: infer Filter extends z.ZodRawShape }
  ? z.output<z.ZodObject<Filter>>
  : object;

/** Columns that a resource fills itself; common columns are filled automatically. */
type Columns<Row, Key extends PropertyKey> = Omit<
  Insertable<Row>,
  Key | 'account_id' | 'created' | 'updated'
> & {
  [Own in keyof Insertable<Row> as Own & Key]?: Insertable<Row>[Own];
};

/** State that a change starts from, inside its transaction. */
export interface Change<Table> {
  readonly stored: StoredOf<Table>;
  readonly table: Table;
}

/** The specifics of one resource. */
export interface Declaration<Api extends ResourceApi, Table> {
  /** Migrations that create its table. A released migration is frozen; later changes are new migrations. */
  readonly migrations?: readonly Migration[];
  /** Generates the key of a new object, unless the database or the account does. */
  readonly newKey?: () => string;
  /** Columns of a new or changed object. May reject it with a `fieldError`. */
  readonly columns: (
    input: z.output<Api['input']>,
    now: number,
    change?: Change<Table>,
  ) => Columns<RowOf<Table>, KeyOf<Table>> | Promise<Columns<RowOf<Table>, KeyOf<Table>>>;
  /** The object as responses show it; creation and update times are added. */
  readonly view: (stored: StoredOf<Table>) => Omit<z.input<Api['shown']>, 'created_at' | 'updated_at'>;
  /** Merges a change into the stored object; absent: into the shown one. */
  readonly merge?: (stored: StoredOf<Table>, patch: PatchOf<Api>) => z.output<Api['input']>;
  /** A page of its list, if the query has more parameters than paging. */
  readonly list?: (
    table: Table,
    accountId: string,
    query: FilterOf<Api>,
    page: Page,
  ) => Promise<{ total: number; rows: StoredOf<Table>[] }>;
  /** Operations on parts of it, which follow its own in the reference. Their handlers are in routes.ts. */
  readonly parts?: Readonly<Record<string, Route>>;
}

/** A plain account resource: its API, its repository and how they are connected. */
export interface Resource<Api extends ResourceApi = ResourceApi, Table = unknown>
  extends Declaration<Api, Table> {
  readonly api: Api;
  readonly table: TableClass<Table>;
}

/**
 * Declares a plain account resource; docs/how-to/adding-a-resource.md shows the whole change.
 *
 * @param api its schemas and operations.
 * @param table the class of its repository: an `accountTable`, or one that extends it.
 */
export function defineResource<const Api extends ResourceApi, Table>(api: Api, table: TableClass<Table>) {
  return (declared: Declaration<Api, Table>): Resource<Api, Table> => ({ ...declared, api, table });
}

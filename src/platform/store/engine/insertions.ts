import {
  type InsertQueryBuilder,
  type InsertResult,
  type Kysely,
  type OperationNodeSource,
  type RawBuilder,
  sql,
} from 'kysely';
import type { Tables } from '../tables.ts';
import { type ColumnType, rowSource } from './postgres/postgres-arrays.ts';
import { executeForEach } from './sqlite.ts';

/** The types of a table's columns. */
export type ColumnTypes<Row> = {
  readonly [Column in keyof Row]: ColumnType;
};

/** A statement whose rows are not read. */
export interface Change extends OperationNodeSource {
  execute(): Promise<unknown>;
}

/** Rows of one table, and how they are inserted. */
export interface RowsToInsert<Table extends keyof Tables> {
  readonly db: Kysely<Tables>;
  readonly table: Table;
  readonly types: ColumnTypes<Tables[Table]>;
  readonly rows: readonly Tables[Table][];
}

type Insert<Table extends keyof Tables> = InsertQueryBuilder<Tables, Table, InsertResult>;

/** How an engine inserts many rows. */
export interface Insertions {
  /** Statements that insert rows; none without rows. The second argument completes them. */
  inserting<Table extends keyof Tables>(
    insert: RowsToInsert<Table>,
    complete?: (insert: Insert<Table>) => Insert<Table>,
  ): Change[];
  /**
   * Inserts rows, except those whose unique key exists. Returns those inserted.
   *
   * @param unless excludes further rows, which it calls `fresh`: on PostgreSQL, where a partitioned table has no unique
   *   key across its partitions.
   */
  insertNew<Table extends keyof Tables>(
    insert: RowsToInsert<Table> & { readonly unless: RawBuilder<boolean> },
    key: keyof Tables[Table] & string,
  ): Promise<Tables[Table][]>;
}

/**
 * A statement for one row, which is prepared once and executed for each. A statement for many rows would have another
 * text for each number of rows. And before it changed a page it would copy it, to undo a part of itself: into a file, if
 * there are more than 16. So does one that returns rows.
 */
export const insertedOneByOne: Insertions = {
  inserting(insert, complete = (one) => one) {
    if (insert.rows.length === 0) return [];
    const { query, execute } = oneByOne(insert, complete);
    return [{ toOperationNode: () => query.toOperationNode(), execute }];
  },
  async insertNew(insert) {
    if (insert.rows.length === 0) return [];
    const { execute } = oneByOne(insert, (one) => one.onConflict((conflict) => conflict.doNothing()));
    const changed = await execute();
    return insert.rows.filter((_row, index) => changed[index]?.changes === 1);
  },
};

function oneByOne<Table extends keyof Tables>(
  { db, table, types, rows }: RowsToInsert<Table>,
  complete: (insert: Insert<Table>) => Insert<Table>,
) {
  const columns = Object.keys(types) as (keyof Tables[Table] & string)[];
  const lists = rows.map((row) => columns.map((column) => row[column] ?? null));
  // An expression: sealed columns cannot be in one, and the plugin that seals them refuses it.
  const values = sql`values (${sql.join(lists[0] ?? [])})`;
  const query = complete(
    db
      .insertInto(table)
      .columns(columns as never)
      .expression(values as never),
  );
  const execute = async () => {
    const compiled = query.compile();
    const others = compiled.parameters.slice(columns.length);
    const all = others.length === 0 ? lists : lists.map((list) => [...list, ...others]);
    return (await db.executeQuery(executeForEach(compiled, all))).rows;
  };
  return { query, execute };
}

/**
 * One statement with an array or one value per column, not a parameter per value: it is as short for any number of rows,
 * while parsing and planning a long one would cost more than the rows.
 */
export const insertedTogether: Insertions = {
  inserting: (insert, complete = (one) => one) =>
    insert.rows.length === 0 ? [] : [complete(together(insert))],
  async insertNew(insert, key) {
    if (insert.rows.length === 0) return [];
    const done = await together(insert, sql`where (${insert.unless}) is not true`)
      .onConflict((conflict) => conflict.doNothing())
      .returning(sql<unknown>`${sql.ref(key)}`.as('key'))
      .execute();
    const keys = new Set<unknown>(done.map((row) => row.key));
    return insert.rows.filter((row) => keys.has(row[key]));
  },
};

function together<Table extends keyof Tables>(
  { db, table, types, rows }: RowsToInsert<Table>,
  where: RawBuilder<unknown> = sql``,
): Insert<Table> {
  const columns = Object.keys(types) as (keyof Tables[Table] & string)[];
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const fresh = sql`select ${names} from ${rowSource(types, rows)} as fresh ${where}`;
  return db
    .insertInto(table)
    .columns(columns as never)
    .expression(fresh as never);
}

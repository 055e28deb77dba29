import {
  type InsertQueryBuilder,
  type InsertResult,
  type Kysely,
  type OperationNodeSource,
  type RawBuilder,
  sql,
} from 'kysely';
import type { Tables } from '../tables.ts';
import { arrayOf, type ColumnType } from './postgres/postgres-arrays.ts';
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
  /**
   * Excludes rows, which it calls `fresh`: on PostgreSQL, where a partitioned table has no unique key across its
   * partitions.
   */
  readonly unless?: RawBuilder<boolean>;
}

export type Insert<Table extends keyof Tables, Returned = InsertResult> = InsertQueryBuilder<
  Tables,
  Table,
  Returned
>;

/** A statement that inserts rows. */
export interface Insertion<Returned> extends Change {
  execute(): Promise<Returned[]>;
}

/** Makes the statement that inserts rows; none without rows. The second argument completes it. */
export type Inserting = <Table extends keyof Tables, Returned>(
  insert: RowsToInsert<Table>,
  complete: (insert: Insert<Table>) => Insert<Table, Returned>,
) => Insertion<Returned>[];

/**
 * A statement for one row, which is prepared once and executed for each. A statement for many rows would have another
 * text for each number of rows, and SQLite would copy each page that it changes, to undo a part of it.
 */
export const insertingOneByOne: Inserting = ({ db, table, types, rows }, complete) => {
  const [first] = rows;
  if (!first) return [];
  const columns = Object.keys(types) as (keyof typeof first & string)[];
  const valuesOf = (row: typeof first) => columns.map((column) => row[column] ?? null);
  // An expression: sealed columns cannot be in one, and the plugin that seals them refuses it.
  const values = sql`values (${sql.join(valuesOf(first))})`;
  const query = complete(
    db
      .insertInto(table)
      .columns(columns as never)
      .expression(values as never),
  );
  return [
    {
      toOperationNode: () => query.toOperationNode(),
      async execute() {
        const compiled = query.compile();
        const others = compiled.parameters.slice(columns.length);
        const lists = rows.map((row) => [...valuesOf(row), ...others]);
        return (await db.executeQuery(executeForEach(compiled, lists))).rows;
      },
    },
  ];
};

/**
 * One statement with an array per column, not a parameter per value: it is short and the same for any number of rows,
 * while parsing and planning a long one would cost more than the rows.
 */
export const insertingTogether: Inserting = ({ db, table, types, rows, unless }, complete) => {
  if (rows.length === 0) return [];
  const columns = Object.entries(types) as [keyof (typeof rows)[0], ColumnType][];
  const arrays = columns.map(([column, type]) =>
    arrayOf(
      type,
      rows.map((row) => row[column]),
    ),
  );
  const names = columns.map(([column]) => sql.ref(column as string));
  const fresh = sql`select * from unnest(${sql.join(arrays)}) as fresh (${sql.join(names)})
    ${unless ? sql`where (${unless}) is not true` : sql``}`;
  const insert = db.insertInto(table).columns(columns.map(([column]) => column) as never);
  return [complete(insert.expression(fresh as never))];
};

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type Expression,
  type InsertQueryBuilder,
  type InsertResult,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  sql,
} from 'kysely';
import pg from 'pg';
import { AppError, errorCodeOf } from '../../../lib/errors.ts';
import type { Tables } from '../../tables.ts';
import { batches } from './queries.ts';
import { sqliteKyselyDialect } from './sqlite.ts';

/** The types of a table's columns. `json text` is JSON in a column of type text. */
export type ColumnTypes<Row> = {
  readonly [Column in keyof Row]: ColumnType;
};
export type ColumnType = 'text' | 'bigint' | 'integer' | 'double precision' | 'json' | 'json text';

/** All that differs between the two engines. No other file knows which one it talks to. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Type of columns that hold JSON. They are read as text on both engines. */
  readonly jsonColumn: 'text' | 'json';
  /** Type of columns that hold an instant by the database's own clock. */
  readonly instantColumn: 'bigint' | 'timestamptz';
  /** The type of a primary key that the database counts up and never gives twice. */
  readonly serialKey: string;
  /** Type of columns that hold bytes. */
  readonly blobColumn: 'blob' | 'bytea';
  /** The end of a select whose rows this transaction will change. */
  readonly forUpdate: RawBuilder<unknown>;
  /** The same, passing over rows that another process has locked. */
  readonly forUpdateSkipLocked: RawBuilder<unknown>;
  /**
   * `column in (values of a query)`. Where rows are locked, the whole query runs, and locks its rows in its
   * own order, before the statement touches the first one: two statements that lock in one order cannot wait
   * for each other.
   */
  inLocked(column: string, query: Expression<unknown>): RawBuilder<boolean>;
  /** Keeps two processes from migrating, or creating the first account, at the same time. */
  lockSchema(transaction: Kysely<Tables>): Promise<void>;
  /** `column in (values)` with one parameter, so that the statement is the same for any number of values. */
  inList(column: string, values: readonly string[]): RawBuilder<boolean>;
  /** Rows in portions that one insert takes. */
  portions<Row>(rows: readonly Row[]): Iterable<readonly Row[]>;
  /**
   * The rows of an insert. PostgreSQL gets an array for each column, not a parameter for each value: the
   * statement is short and the same for any number of rows, where reading and planning a long one would cost
   * more than the rows do.
   */
  rows<Table extends keyof Tables>(
    insert: InsertQueryBuilder<Tables, Table, InsertResult>,
    types: ColumnTypes<Tables[Table]>,
    rows: readonly Tables[Table][],
  ): InsertQueryBuilder<Tables, Table, InsertResult>;
  /** `(text column, integer column) in (pairs)`. */
  inPairs(
    columns: readonly [string, string],
    pairs: readonly (readonly [string, number])[],
  ): RawBuilder<boolean>;
}

const nothing = sql``;

const sqliteSql: Dialect = {
  name: 'sqlite',
  jsonColumn: 'text',
  instantColumn: 'bigint',
  serialKey: 'integer primary key autoincrement',
  blobColumn: 'blob',
  forUpdate: nothing,
  forUpdateSkipLocked: nothing,
  // BEGIN IMMEDIATE holds the one write lock already.
  lockSchema: async () => undefined,
  portions: batches,
  rows: (insert, _types, rows) => insert.values(rows as never),
  inLocked: (column, query) => sql<boolean>`${sql.ref(column)} in ${query}`,
  inList: (column, values) =>
    sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`,
  inPairs: ([text, integer], pairs) =>
    sql<boolean>`(${sql.ref(text)}, ${sql.ref(integer)}) in
      (select value ->> 0, value ->> 1 from json_each(${JSON.stringify(pairs)}))`,
};

/** Any number that other programs on the same database are unlikely to use for an advisory lock. */
const schemaLock = 7_425_381_001;

/**
 * Between the texts of a list, and in place of one that is null. JSON has no such characters, it escapes
 * them.
 */
const [separator, noText] = ['\u001e', '\u001f'] as const;

/**
 * The values of a column as one array. JSON goes as one text that the database takes apart: as an element of
 * an array every quotation mark in it would have to be escaped here and unescaped there, and results are full
 * of them.
 */
function arrayOf(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  if (type !== 'json' && type !== 'json text') return sql`${values}::${sql.raw(type)}[]`;
  const list = values.map((value) => value ?? noText).join(separator);
  const texts = sql`string_to_array(${list}, ${sql.lit(separator)}, ${sql.lit(noText)})`;
  return type === 'json' ? sql`${texts}::json[]` : texts;
}

const postgresSql: Dialect = {
  name: 'postgres',
  jsonColumn: 'json',
  instantColumn: 'timestamptz',
  serialKey: 'bigint generated always as identity primary key',
  blobColumn: 'bytea',
  forUpdate: sql`for update`,
  forUpdateSkipLocked: sql`for update skip locked`,
  lockSchema: async (transaction) => {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(transaction);
  },
  inLocked: (column, query) => sql<boolean>`${sql.ref(column)} = any(array${query})`,
  portions: (rows) => (rows.length === 0 ? [] : [rows]),
  rows: (insert, types, rows) => {
    const columns = Object.entries(types) as [keyof (typeof rows)[0], ColumnType][];
    const arrays = columns.map(([column, type]) =>
      arrayOf(
        type,
        rows.map((row) => row[column]),
      ),
    );
    return insert
      .columns(columns.map(([column]) => column) as never)
      .expression(sql`select * from unnest(${sql.join(arrays)})` as never);
  },
  inList: (column, values) => sql<boolean>`${sql.ref(column)} = any(${values}::text[])`,
  inPairs: ([text, integer], pairs) =>
    sql<boolean>`(${sql.ref(text)}, ${sql.ref(integer)}) in
      (select * from unnest(${pairs.map((pair) => pair[0])}::text[], ${pairs.map((pair) => pair[1])}::bigint[]))`,
};

export interface Connection {
  readonly db: Kysely<Tables>;
  readonly dialect: Dialect;
  /** PostgreSQL only: what a dedicated connection needs (LISTEN, leadership). */
  readonly clientConfig?: pg.ClientConfig;
}

/** Opens the embedded database on a second connection, for reading only. */
export function connectSqliteToRead(path: string): Connection {
  const dialect = sqliteKyselyDialect(path, { isReadOnly: true });
  return { db: new Kysely<Tables>({ dialect }), dialect: sqliteSql };
}

/** Opens the embedded database, creating its folder when it is missing. */
export function connectSqlite(path: string): Connection {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return { db: new Kysely<Tables>({ dialect: sqliteKyselyDialect(path) }), dialect: sqliteSql };
}

const bigintOid = 20;
const jsonOid = 114;
const numericOid = 1700;
const parsers = new Map<number, (text: string) => unknown>([
  [bigintOid, Number],
  [numericOid, Number],
  [jsonOid, (text) => text],
]);

/** Opens a pool of connections to PostgreSQL. `onPoolError` hears of idle connections that broke. */
export function connectPostgres(
  url: string,
  onPoolError: (error: Error) => void,
  maxConnections = 10,
): Connection {
  const clientConfig: pg.ClientConfig = {
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    application_name: 'picket service',
    types: {
      getTypeParser: (oid: number, format?: string) =>
        parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
    } as unknown as pg.CustomTypesConfig,
  };
  const pool = new pg.Pool({
    ...clientConfig,
    max: maxConnections,
    query_timeout: 30_000,
    statement_timeout: 30_000,
    // A process that is stopped in the middle of a transaction must not keep its locks from all others.
    idle_in_transaction_session_timeout: 10_000,
  });
  pool.on('error', onPoolError);
  // The pool listens to idle connections only. One that breaks while it is in use fails its query, and must
  // not, as an error event nobody hears, end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    dialect: postgresSql,
    clientConfig,
  };
}

/** A text as it stands in a `like` pattern with `escape '\\'`. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

/**
 * SQLSTATE classes: connection exceptions, transaction rollbacks, insufficient resources, operator
 * intervention; 25P03: the process stood still in a transaction.
 */
const unavailableStates = /^(08|40|53|57P|25P03)/;
/** SQLSTATEs of transactions that were rolled back for the sake of another and may simply be tried again. */
const conflictStates = new Set(['40001', '40P01']);
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** SQLite result codes: busy, I/O error, disk full, cannot open. */
const unavailableSqlite = new Set([5, 10, 13, 14]);
const brokenConnection =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|not queryable/i;

/**
 * The error as STORE_UNAVAILABLE when the database is what failed, not the query; the error itself otherwise.
 */
export function asStoreError(error: Error): Error {
  const code = errorCodeOf(error);
  const sqliteCode = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null;
  const isUnavailable =
    (code !== undefined && (unavailableCodes.has(code) || unavailableStates.test(code))) ||
    (sqliteCode !== null && unavailableSqlite.has(sqliteCode)) ||
    brokenConnection.test(error.message);
  if (!isUnavailable) return error;
  return new AppError('STORE_UNAVAILABLE', 'The database is unavailable. Try again.', { cause: error });
}

/**
 * Whether a transaction failed only because of another one at the same time: a deadlock or a serialization
 * failure.
 */
export function isConflict(error: unknown): boolean {
  return conflictStates.has(errorCodeOf(error) ?? '');
}

/** Whether an insert failed because a unique value is taken. */
export function isUniqueViolation(error: unknown): boolean {
  if (errorCodeOf(error) === '23505') return true;
  return error instanceof Error && 'errcode' in error && (error.errcode === 2067 || error.errcode === 1555);
}

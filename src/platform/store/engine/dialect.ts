import { dirname } from 'node:path';
import { AppError, errorCodeOf } from '@picket/lib/errors.ts';
import { makeFolders } from '@picket/lib/process/make-folders.ts';
import { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import {
  type Expression,
  type InsertQueryBuilder,
  type InsertResult,
  Kysely,
  type OperationNodeSource,
  type RawBuilder,
  sql,
} from 'kysely';
import type { Tables } from '../tables.ts';
import { keepPrivate } from './disk/data-dir.ts';
import { sqliteCodeOf } from './disk/sqlite-code.ts';
import { describeStorage, storageProblemOf } from './disk/storage-problem.ts';
import { isBrokenConnection, readOnlyState } from './foreign-texts.ts';
import { type ColumnType, rowSource } from './postgres/postgres-arrays.ts';
import type { PostgresHosts } from './postgres/postgres-hosts.ts';
import { batches, oldestTransactionMs } from './queries.ts';
import { hasNoRoom, noRoomLeft } from './server-room.ts';
import { type OpenSqlite, sqliteKyselyDialect } from './sqlite.ts';
import { SlicedTransactions } from './sqlite-slices.ts';

/** The types of a table's columns. */
export type ColumnTypes<Row> = {
  readonly [Column in keyof Row]: ColumnType;
};

/** A statement whose rows are not read. */
export interface Change extends OperationNodeSource {
  execute(): Promise<unknown>;
}

/** All differences between the two engines. No other file knows which engine it uses. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Type of columns that hold JSON. Both engines return them as text. */
  readonly jsonColumn: 'text' | 'json';
  /** Type of columns that hold an instant by the database's own clock. */
  readonly instantColumn: 'bigint' | 'timestamptz';
  /** Type of a primary key that the database increments and never reuses. */
  readonly serialKey: string;
  /** Type of columns that hold bytes. */
  readonly blobColumn: 'blob' | 'bytea';
  /** Suffix of a select whose rows this transaction will change. */
  readonly forUpdate: RawBuilder<unknown>;
  /** The same, skipping rows that another process has locked. */
  readonly forUpdateSkipLocked: RawBuilder<unknown>;
  /** Suffix of a select whose rows other transactions may read and share, but not change until this one ends. */
  readonly forShare: RawBuilder<unknown>;
  /** Rows that one background statement deletes: on SQLite all other statements wait for it. */
  readonly rowsPerRemoval: number;
  /**
   * `column in (values of a query)`. On engines with row locks, the whole query runs first and locks its rows in its
   * own order before the statement touches any: statements with the same lock order cannot deadlock.
   */
  inLocked(column: string, query: Expression<unknown>): RawBuilder<boolean>;
  /** Whether several processes divide the schedule by parts. Otherwise one has all of it. */
  readonly dividesSchedule: boolean;
  /** Whether rows are locked one by one. Otherwise a lock order would only cost an index. */
  readonly locksRows: boolean;
  /** Prevents concurrent migrations, and concurrent creation of the first account. */
  lockSchema(transaction: Kysely<Tables>): Promise<void>;
  /** Start of the oldest transaction of the service's processes; null if no transaction is open. */
  oldestTransactionMs(db: Kysely<Tables>): Promise<number | null>;
  /** Fails when the database does not respond, or would refuse writes. */
  ping(db: Kysely<Tables>): Promise<void>;
  /**
   * Returns disk space of deleted rows to the file system, a few megabytes at a time, and whether there may be more.
   * PostgreSQL does so by itself.
   */
  giveBackSpace(db: Kysely<Tables>): Promise<boolean>;
  /**
   * Enables the return of space in a database created without it; false if the database is too large to rewrite now.
   */
  allowGivingBack(db: Kysely<Tables>): Promise<boolean>;
  /** Rewrites the database where deleted content would stay readable in its file. */
  forgetDeleted(db: Kysely<Tables>): Promise<void>;
  /** `column in (values)` with one parameter, so that the statement is the same for any number of values. */
  inList(column: string, values: readonly string[]): RawBuilder<boolean>;
  /** Splits rows into batches for one insert each. */
  portions<Row>(rows: readonly Row[]): Iterable<readonly Row[]>;
  /**
   * Adds rows to an insert. PostgreSQL gets an array or one value per column, not a parameter per value: the statement is
   * as short for any number of rows, while parsing and planning a long one would cost more than the rows.
   *
   * @param unless excludes rows, which it calls `fresh`: on PostgreSQL, where a partitioned table has no unique key
   *   across its partitions.
   */
  rows<Table extends keyof Tables>(
    insert: InsertQueryBuilder<Tables, Table, InsertResult>,
    types: ColumnTypes<Tables[Table]>,
    rows: readonly Tables[Table][],
    unless?: RawBuilder<boolean>,
  ): InsertQueryBuilder<Tables, Table, InsertResult>;
  /** Executes independent changes. PostgreSQL gets them as one statement, which saves round trips. */
  together(db: Kysely<Tables>, changes: readonly Change[]): Promise<void>;
  /**
   * Returns the rows of a query for each of several texts, in order. PostgreSQL plans it once: with partitions,
   * planning one query per text would take longer than the rows do.
   */
  forEach<Row>(
    db: Kysely<Tables>,
    values: readonly string[],
    query: (value: RawBuilder<string>) => Expression<unknown>,
  ): Promise<Row[]>;
  /** Pairs of a text and an integer as rows of these two columns, for `from`. */
  pairRows(
    columns: readonly [string, string],
    pairs: readonly (readonly [string, number])[],
  ): RawBuilder<unknown>;
  /** Aggregates the numbers of a group that meet a condition to a JSON list, as text. */
  jsonArray(number: RawBuilder<unknown>, condition: RawBuilder<unknown>): RawBuilder<string>;
  /** `(text column, integer column) in (pairs)`. */
  inPairs(
    columns: readonly [string, string],
    pairs: readonly (readonly [string, number])[],
  ): RawBuilder<boolean>;
}

const nothing = sql``;

/** Free pages to keep: they are reused within the hour. */
const keptFreePages = 2_000;
/** 2 MB: a step takes milliseconds. */
const pagesPerStep = 500;
const rewrittenAtStartBytes = 512 * 1024 * 1024;

type Pragma = 'freelist_count' | 'auto_vacuum' | 'page_count' | 'page_size';

async function pragma(db: Kysely<Tables>, name: Pragma): Promise<number> {
  const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(db);
  return rows[0]?.[name] ?? 0;
}

const sqliteSql: Dialect = {
  name: 'sqlite',
  jsonColumn: 'text',
  instantColumn: 'bigint',
  serialKey: 'integer primary key autoincrement',
  blobColumn: 'blob',
  rowsPerRemoval: 500,
  forUpdate: nothing,
  locksRows: false,
  dividesSchedule: false,
  forUpdateSkipLocked: nothing,
  forShare: nothing,
  // BEGIN IMMEDIATE already holds the single write lock.
  lockSchema: async () => undefined,
  // One connection writes, one transaction after the other.
  oldestTransactionMs: async () => null,
  ping: async (db) => {
    await sql`select name from schema_migrations limit 1`.execute(db);
  },
  giveBackSpace: async (db) => {
    if ((await pragma(db, 'freelist_count')) <= keptFreePages) return false;
    await sql`pragma incremental_vacuum(${sql.lit(pagesPerStep)})`.execute(db);
    // If the file cannot shrink, nothing has changed, and an immediate retry is pointless.
    return (await pragma(db, 'auto_vacuum')) !== 0 && (await pragma(db, 'freelist_count')) > keptFreePages;
  },
  allowGivingBack: async (db) => {
    if ((await pragma(db, 'auto_vacuum')) !== 0) return true;
    const sizeBytes = (await pragma(db, 'page_count')) * (await pragma(db, 'page_size'));
    if (sizeBytes > rewrittenAtStartBytes) return false;
    await sql`vacuum`.execute(db);
    return true;
  },
  forgetDeleted: async (db) => {
    await sql`vacuum`.execute(db);
    await sql`pragma wal_checkpoint(truncate)`.execute(db);
  },
  portions: batches,
  rows: (insert, _types, rows) => insert.values(rows as never),
  together: async (_db, changes) => {
    for (const change of changes) await change.execute();
  },
  inLocked: (column, query) => sql<boolean>`${sql.ref(column)} in ${query}`,
  inList: (column, values) =>
    sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`,
  forEach: async <Row>(
    db: Kysely<Tables>,
    values: readonly string[],
    query: (value: RawBuilder<string>) => Expression<unknown>,
  ) => {
    if (values.length === 0) return [];
    const each = values.map((value) => sql`select * from (${query(sql`${value}`)})`);
    const { rows } = await sql<Row>`${sql.join(each, sql` union all `)}`.execute(db);
    return rows;
  },
  pairRows: ([text, integer], pairs) =>
    sql`(select value ->> 0 as ${sql.ref(text)}, value ->> 1 as ${sql.ref(integer)}
      from json_each(${JSON.stringify(pairs)}))`,
  jsonArray: (number, condition) => sql`json_group_array(${number}) filter (where ${condition})`,
  inPairs: ([text, integer], pairs) =>
    sql<boolean>`(${sql.ref(text)}, ${sql.ref(integer)}) in
      (select value ->> 0, value ->> 1 from json_each(${JSON.stringify(pairs)}))`,
};

/** An arbitrary advisory-lock number that other programs on the same database are unlikely to use. */
const schemaLock = 7_425_381_001;

export const postgresSql: Dialect = {
  name: 'postgres',
  jsonColumn: 'json',
  instantColumn: 'timestamptz',
  serialKey: 'bigint generated always as identity primary key',
  blobColumn: 'bytea',
  rowsPerRemoval: 5_000,
  forUpdate: sql`for update`,
  locksRows: true,
  dividesSchedule: true,
  forUpdateSkipLocked: sql`for update skip locked`,
  forShare: sql`for share`,
  lockSchema: async (transaction) => {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(transaction);
  },
  oldestTransactionMs,
  ping: async (db) => {
    const { rows } = await sql<{ mode: string }>`
      select current_setting('transaction_read_only') as mode`.execute(db);
    if (rows[0]?.mode !== 'on') return;
    throw Object.assign(new Error('the server accepts no writes'), { code: readOnlyState });
  },
  giveBackSpace: async () => false,
  allowGivingBack: async () => true,
  // The server's vacuum frees the pages; a reader of its files has access to more than those.
  forgetDeleted: async () => undefined,
  inLocked: (column, query) => sql<boolean>`${sql.ref(column)} = any(array${query})`,
  portions: (rows) => (rows.length === 0 ? [] : [rows]),
  rows: (insert, types, rows, unless) => {
    const columns = Object.keys(types).map((column) => sql.ref(column));
    return insert.columns(Object.keys(types) as never).expression(
      sql`select ${sql.join(columns)} from ${rowSource(types, rows)} as fresh
          ${unless ? sql`where (${unless}) is not true` : nothing}` as never,
    );
  },
  together: async (db, changes) => {
    const [last, ...others] = changes.toReversed();
    if (!last) return;
    const named = others.map((change, index) => sql`${sql.raw(`change_${index}`)} as (${change})`);
    if (others.length === 0) await last.execute();
    else await sql`with ${sql.join(named)} ${last}`.execute(db);
  },
  inList: (column, values) => sql<boolean>`${sql.ref(column)} = any(${values}::text[])`,
  forEach: async <Row>(
    db: Kysely<Tables>,
    values: readonly string[],
    query: (value: RawBuilder<string>) => Expression<unknown>,
  ) => {
    const { rows } = await sql<Row>`select each.* from unnest(${values}::text[]) as asked (value)
      cross join lateral (${query(sql.ref('asked.value'))}) as each`.execute(db);
    return rows;
  },
  pairRows: ([text, integer], pairs) =>
    sql`(select * from unnest(${pairs.map((pair) => pair[0])}::text[], ${pairs.map((pair) => pair[1])}::bigint[])
      as pairs (${sql.ref(text)}, ${sql.ref(integer)}))`,
  jsonArray: (number, condition) =>
    sql`coalesce((json_agg(${number}) filter (where ${condition}))::text, '[]')`,
  inPairs: ([text, integer], pairs) =>
    sql<boolean>`(${sql.ref(text)}, ${sql.ref(integer)}) in
      (select * from unnest(${pairs.map((pair) => pair[0])}::text[], ${pairs.map((pair) => pair[1])}::bigint[]))`,
};

export interface Connection {
  readonly db: Kysely<Tables>;
  /** PostgreSQL with a replica only: for reads that may be some seconds old. */
  readonly readers?: Kysely<Tables>;
  readonly dialect: Dialect;
  /** SQLite only: transactions that yield to others. */
  readonly slices?: SlicedTransactions;
  /** Queue for connections. */
  readonly turns?: FairQueue;
  /** PostgreSQL only: hosts for dedicated connections (LISTEN, leadership). */
  readonly hosts?: PostgresHosts;
  /** PostgreSQL without a pooler only: reduces the size of the open pool. */
  readonly limitPool?: (size: number) => void;
}

/** Opens the embedded database on a second, read-only connection. */
export function connectSqliteToRead(path: string): Connection {
  const dialect = sqliteKyselyDialect(path, { isReadOnly: true });
  return { db: new Kysely<Tables>({ dialect }), dialect: sqliteSql };
}

/**
 * Opens the embedded database and creates its folder if missing. Calls `onOpenToOthers` with files that other users can
 * read and this process cannot change, and `onFailed` for failed statements.
 */
export function connectSqlite(
  path: string,
  onOpenToOthers: (files: readonly string[]) => void,
  onFailed?: (error: Error) => void,
): Connection {
  if (path !== ':memory:') {
    makeFolders(dirname(path));
    const open = keepPrivate(path);
    if (open.length > 0) onOpenToOthers(open);
  }
  let damage: Error | undefined;
  const onError = (error: Error) => {
    if (isDamaged(error)) damage = error;
    onFailed?.(error);
  };
  const ping: Dialect['ping'] = async (db) => {
    // Once damage has been detected, the database counts as unavailable.
    if (damage) throw damage;
    await sqliteSql.ping(db);
  };
  let opened: OpenSqlite | undefined;
  const onOpen = (open: OpenSqlite) => {
    opened = open;
  };
  const turns = new FairQueue({ name: 'database', atOnce: 1, waitingPerKey: Number.POSITIVE_INFINITY });
  const db = new Kysely<Tables>({ dialect: sqliteKyselyDialect(path, { onError, onOpen, turns }) });
  const slices = new SlicedTransactions(db, () => opened, turns);
  return { db, dialect: { ...sqliteSql, ping }, turns, slices };
}

/** Escapes a text for a `like` pattern with `escape '\\'`. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);
}

/**
 * SQLSTATE classes: connection exceptions, transaction rollbacks, insufficient resources, operator intervention
 * (including cancelled or timed-out statements), damaged data; 25P03: idle-in-transaction timeout; 25006: a standby;
 * 55P03: lock not available.
 */
const unavailableStates = /^(08|40|53|57|XX00[12]|25P03|25006|55P03)/;
/** SQLSTATEs of transactions that lost to a concurrent one and may be retried. */
const conflictStates = new Set(['40001', '40P01']);
const unavailableCodes = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ENOENT ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(' '),
);
/** SQLite result codes: busy, locked, cannot open. */
const unavailableSqlite = new Set([5, 6, 14]);
/** SQLite result codes of a damaged file: corrupt, not a database. */
const damagedSqlite = new Set([11, 26]);

/**
 * Returns STORE_UNAVAILABLE or STORAGE_FULL if the database failed rather than the query; the error itself otherwise.
 */
export function asStoreError(error: Error): Error {
  const problem = storageProblemOf(error);
  if (problem !== undefined) {
    const code = problem === 'full' ? 'STORAGE_FULL' : 'STORE_UNAVAILABLE';
    return new AppError(code, describeStorage(problem, error), { cause: error });
  }
  const message = unavailableMessage(error);
  return message === undefined ? error : new AppError('STORE_UNAVAILABLE', message, { cause: error });
}

function unavailableMessage(error: Error): string | undefined {
  const code = errorCodeOf(error);
  if (isDamaged(error) || /^XX00[12]$/.test(code ?? '')) {
    return 'The database is damaged. Restore a backup: "picket service restore".';
  }
  if (code === readOnlyState) return 'The database server is a standby and accepts no writes.';
  if (hasNoRoom(error)) return noRoomLeft;
  const sqliteCode = sqliteCodeOf(error);
  const isUnavailable =
    (code !== undefined && (unavailableCodes.has(code) || unavailableStates.test(code))) ||
    (sqliteCode !== null && unavailableSqlite.has(sqliteCode)) ||
    isBrokenConnection(error.message);
  return isUnavailable ? 'The database is unavailable. Try again.' : undefined;
}

/** Whether SQLite detected damage to its file. */
export function isDamaged(error: Error): boolean {
  const code = sqliteCodeOf(error);
  return code !== null && damagedSqlite.has(code);
}

/** Whether a transaction failed only because of a concurrent one: a deadlock, a serialization failure. */
export function isConflict(error: unknown): boolean {
  return conflictStates.has(errorCodeOf(error) ?? '');
}

/** Whether an insert failed because a unique value is taken. */
export function isUniqueViolation(error: unknown): boolean {
  if (errorCodeOf(error) === '23505') return true;
  return error instanceof Error && 'errcode' in error && (error.errcode === 2067 || error.errcode === 1555);
}

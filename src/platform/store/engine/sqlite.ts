import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { toError } from '@picket/lib/errors.ts';
import { LruMap } from '@picket/lib/lru.ts';
import { presentAsker } from '@picket/lib/turns/asker.ts';
import type { FairQueue } from '@picket/lib/turns/fair-queue.ts';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Dialect as KyselyDialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { recordStatement } from '../commits.ts';

/** Memory for pages, taken as they are used. With SQLite's 2 MB, indexes of a busy store are read again and again. */
const cacheKb = 16_000;
/** 16 MB: pages that change all the time, as those of the queue, are copied into the database a quarter as often. */
const pagesPerCheckpoint = 4_000;
/** Maximum number of cached prepared statements; the service has fewer distinct ones, lists of filters aside. */
const maxStatements = 500;

/** The single connection of a database, for features outside Kysely. */
export interface OpenSqlite {
  readonly database: DatabaseSync;
  readonly connection: DatabaseConnection;
}

export interface SqliteOptions {
  /** Queue of the connection by account; absent: first come, first served. */
  readonly turns?: FairQueue;
  readonly onOpen?: (open: OpenSqlite) => void;
  readonly isReadOnly?: boolean;
  /** Called for every failed statement. */
  readonly onError?: (error: Error) => void;
}

/**
 * Kysely over node:sqlite with one connection. Kysely serializes its users, so a transaction is never interleaved with
 * another query. WAL, and `synchronous=FULL`: acknowledged writes survive a power cut.
 */
export function sqliteKyselyDialect(path: string, options: SqliteOptions = {}): KyselyDialect {
  return {
    createAdapter: () => (options.turns ? new SharedAdapter() : new SqliteAdapter()),
    createDriver: () => new NodeSqliteDriver(path, options),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** The driver itself hands the single connection from user to user. */
class SharedAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class NodeSqliteDriver implements Driver {
  readonly #path: string;
  readonly #options: SqliteOptions;
  #database: DatabaseSync | undefined;
  #connection: NodeSqliteConnection | undefined;
  #release: () => void = () => undefined;

  constructor(path: string, options: SqliteOptions) {
    this.#path = path;
    this.#options = options;
  }

  async init(): Promise<void> {
    const { isReadOnly = false, onError, onOpen } = this.#options;
    const database = new DatabaseSync(this.#path, { readOnly: isReadOnly });
    database.exec('pragma busy_timeout = 5000; pragma foreign_keys = on;');
    // Free pages can be returned; takes effect in a database without tables, or with VACUUM.
    if (!isReadOnly) database.exec('pragma auto_vacuum = incremental;');
    if (!isReadOnly) database.exec('pragma journal_mode = wal; pragma synchronous = full;');
    if (!isReadOnly)
      database.exec(`pragma cache_size = -${cacheKb}; pragma wal_autocheckpoint = ${pagesPerCheckpoint};`);
    this.#database = database;
    this.#connection = new NodeSqliteConnection(database, onError);
    onOpen?.({ database, connection: this.#connection });
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const { turns } = this.#options;
    if (turns) await this.#turn(turns);
    if (!this.#connection) throw new Error('the SQLite driver was used before it was opened');
    return this.#connection;
  }

  /** IMMEDIATE: a transaction that starts as a reader could not be upgraded while another process writes. */
  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would only hide the first error.
    if (this.#database?.isTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  async releaseConnection(): Promise<void> {
    // The one connection stays open until destroy().
    this.#release();
  }

  /** Waits for the turn of the current account; it ends with the release of the connection. */
  #turn(turns: FairQueue): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const { key, isFirst } = presentAsker();
    const turn = turns.run({ key, isFirst }, () => {
      const released = Promise.withResolvers<void>();
      this.#release = released.resolve;
      begun.resolve();
      return released.promise;
    });
    turn.catch(begun.reject);
    return begun.promise;
  }

  async destroy(): Promise<void> {
    this.#database?.close();
  }
}

/** A statement that is executed once for each of several lists of values. */
interface RepeatedQuery extends CompiledQuery {
  /** Number of values of one execution; the parameters contain those of all. */
  readonly valuesEach: number;
}

/** The number of rows that each execution of a repeated statement changed, in place of rows. */
export interface ChangedRows {
  readonly changes: number;
}

/** Repeats a statement, which returns no rows, for each list of values, all of the same length. */
export function executeForEach(
  query: CompiledQuery,
  lists: readonly (readonly unknown[])[],
): CompiledQuery<ChangedRows> {
  const repeated = { ...query, parameters: lists.flat(), valuesEach: lists[0]?.length ?? 0 };
  return repeated satisfies RepeatedQuery;
}

interface Prepared {
  readonly statement: StatementSync;
  /** Whether the statement returns rows: some pragmas return rows without columns, such as one per returned page. */
  readonly hasRows: boolean;
  /** Names of its columns; undefined if rows are read as node:sqlite makes them. */
  readonly columns: readonly string[] | undefined;
}

/**
 * Reads rows as objects of one shape. Those that node:sqlite makes are dictionaries, which take a quarter longer to make
 * and twice as long to read.
 */
function shapedRows<Row>(statement: StatementSync, columns: readonly string[], values: SqlValues): Row[] {
  const lists = statement.all(...values) as unknown as readonly (readonly unknown[])[];
  // A table may have got a column since the statement was prepared.
  const isAsPrepared = lists[0] === undefined || lists[0].length === columns.length;
  const names = isAsPrepared ? columns : statement.columns().map(({ name }) => name);
  const empty: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, null]));
  return lists.map((list) => {
    const row = { ...empty };
    for (const [index, name] of names.entries()) row[name] = list[index];
    return row as Row;
  });
}

type SqlValues = (string | number | bigint | null | Uint8Array)[];

class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #onError: ((error: Error) => void) | undefined;
  readonly #statements = new LruMap<string, Prepared>(maxStatements);

  constructor(database: DatabaseSync, onError: ((error: Error) => void) | undefined) {
    this.#database = database;
    this.#onError = onError;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const result = this.#execute<Row>(query);
      recordStatement(query.sql);
      return result;
    } catch (thrown) {
      recordStatement(query.sql, thrown);
      this.#onError?.(toError(thrown));
      throw thrown;
    }
  }

  #execute<Row>(query: CompiledQuery): QueryResult<Row> {
    const { statement, hasRows, columns } = this.#prepare(query.sql);
    const parameters = query.parameters as SqlValues;
    if ('valuesEach' in query) {
      const { valuesEach } = query as RepeatedQuery;
      const rows: ChangedRows[] = [];
      for (let start = 0; start < parameters.length; start += valuesEach) {
        const { changes } = statement.run(...parameters.slice(start, start + valuesEach));
        rows.push({ changes: Number(changes) });
      }
      const changed = rows.reduce((sum, { changes }) => sum + changes, 0);
      return { rows: rows as Row[], numAffectedRows: BigInt(changed) };
    }
    if (columns) return { rows: shapedRows<Row>(statement, columns, parameters) };
    if (hasRows) return { rows: statement.all(...parameters) as Row[] };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  // biome-ignore lint/correctness/useYield: nothing in the service streams rows; the interface requires the method
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('streaming is not supported');
  }

  #prepare(text: string): Prepared {
    return this.#statements.getOrMake(text, () => {
      const statement = this.#database.prepare(text);
      const names = statement.columns().map(({ name }) => name);
      // Of columns with one name the last counts, and names like numbers would be in another order.
      const isShaped = names.length > 0 && new Set(names).size === names.length && !names.some(isNumber);
      if (isShaped) statement.setReturnArrays(true);
      const hasRows = names.length > 0 || text.startsWith('pragma ');
      return { statement, hasRows, columns: isShaped ? names : undefined };
    });
  }
}

const isNumber = (name: string) => /^\d+$/.test(name);

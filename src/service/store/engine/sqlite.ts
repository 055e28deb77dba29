import { DatabaseSync, type StatementSync } from 'node:sqlite';
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
import { LruMap } from '../../../lib/lru.ts';

/** How many prepared statements are kept; the service has fewer distinct ones, lists of filters aside. */
const maxStatements = 500;

/**
 * Kysely over node:sqlite with one connection. Kysely serialises its users, so a transaction is never
 * interleaved with another query. WAL, and `synchronous=FULL`: what was acknowledged survives a power cut.
 */
export function sqliteKyselyDialect(
  path: string,
  options: { readonly isReadOnly?: boolean } = {},
): KyselyDialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new NodeSqliteDriver(path, options.isReadOnly ?? false),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class NodeSqliteDriver implements Driver {
  readonly #path: string;
  readonly #isReadOnly: boolean;
  #database: DatabaseSync | undefined;
  #connection: NodeSqliteConnection | undefined;

  constructor(path: string, isReadOnly: boolean) {
    this.#path = path;
    this.#isReadOnly = isReadOnly;
  }

  async init(): Promise<void> {
    const database = new DatabaseSync(this.#path, { readOnly: this.#isReadOnly });
    database.exec('pragma busy_timeout = 5000; pragma foreign_keys = on;');
    if (!this.#isReadOnly) database.exec('pragma journal_mode = wal; pragma synchronous = full;');
    this.#database = database;
    this.#connection = new NodeSqliteConnection(database);
  }

  async acquireConnection(): Promise<DatabaseConnection> {
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
  }

  async destroy(): Promise<void> {
    this.#database?.close();
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new LruMap<string, Prepared>(maxStatements);

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { statement, returnsRows } = this.#prepare(query.sql);
    const parameters = query.parameters as (string | number | bigint | null | Uint8Array)[];
    if (returnsRows) return { rows: statement.all(...parameters) as Row[] };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  // biome-ignore lint/correctness/useYield: nothing in the service streams rows; the interface asks for the method
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('streaming is not supported');
  }

  #prepare(text: string): Prepared {
    return this.#statements.getOrMake(text, () => {
      const statement = this.#database.prepare(text);
      return { statement, returnsRows: statement.columns().length > 0 };
    });
  }
}

/** A login and one query. */
export interface SqlQuery {
  readonly username: string;
  readonly password: string;
  readonly database: string;
  readonly text: string;
  /** Whether the transaction of the query permits no changes. */
  readonly isReadOnly: boolean;
  /** After this time the server cancels the query. */
  readonly statementTimeoutMs: number;
}

/** Result of a query. */
export interface SqlAnswer {
  /** First value of the first row: numbers that a double represents exactly, booleans, and all else as text. */
  readonly value: string | number | boolean | null;
  /** Number of rows that were received. */
  readonly rowCount: number;
  /** Whether the rest of the rows was not read. */
  readonly isCut: boolean;
  /** Names of the columns. */
  readonly columns: readonly string[];
}

/** A connection to a database server, from the login on. */
export interface SqlSession {
  /** @throws SqlRefusal if the server answers with an error. */
  login(): Promise<void>;
  /** Begins the transaction. @returns the version of the server. @throws SqlRefusal */
  begin(): Promise<string>;
  /** Runs the query, and ends the transaction. @throws SqlRefusal */
  run(): Promise<SqlAnswer>;
  /** Takes leave of the server as far as that is possible at once. */
  leave(): Promise<void>;
}

/** The server answered with an error of its own. */
export class SqlRefusal extends Error {
  override readonly name = 'SqlRefusal';
  /** Code of the SQL standard, such as `28P01`. */
  readonly sqlState: string;
  /** Number of the error at MySQL and MariaDB, such as 1045. */
  readonly errorCode: number | undefined;

  constructor(message: string, sqlState: string, errorCode?: number) {
    super(message);
    this.sqlState = sqlState;
    this.errorCode = errorCode;
  }
}

/** The peer does not speak the protocol, or sends more than a run may read. */
export class SqlMalformed extends Error {
  override readonly name = 'SqlMalformed';
}

/** The query took longer than the check permits, and the server did not cancel it. */
export class SqlOverdue extends Error {
  override readonly name = 'SqlOverdue';
}

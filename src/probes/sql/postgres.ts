import type { Socket } from 'node:net';
import pg from 'pg';
import { type SqlAnswer, SqlMalformed, type SqlQuery, SqlRefusal, type SqlSession } from './session.ts';

/** Enough for any answer that a check compares; the rest would only fill memory. */
const maxRows = 100_000;
const maxBytes = 8 * 1024 * 1024;
/** Messages that can be the first answer: authentication, error, notice, protocol version. */
const firstMessages: ReadonlySet<number> = new Set(Buffer.from('RENv'));
/** Long enough for a packet to leave; there is nothing else to wait for. */
const leaveMs = 100;

/** A session of PostgreSQL over a connection that exists already, with TLS or without. */
export class PostgresSession implements SqlSession {
  readonly #query: SqlQuery;
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #broken: Promise<never>;
  readonly #breakOff: (error: Error) => void;

  constructor(socket: Socket, query: SqlQuery) {
    this.#query = query;
    this.#socket = socket;
    this.#client = new pg.Client({
      user: query.username,
      database: query.database || query.username,
      // As a function: with an empty text the driver would look for one in the environment and in files of the host.
      password: () => query.password,
      host: 'connected',
      port: 1,
      ssl: false,
      stream: () => asUnconnected(socket),
      application_name: 'picket',
      client_encoding: 'UTF8',
      keepAlive: false,
      types: { getTypeParser: () => (text: string) => text },
    });
    // The driver reads these from the environment of the agent.
    const { connectionParameters: parameters } = this.#client as unknown as {
      connectionParameters: { options?: string | undefined; replication?: string | undefined };
    };
    parameters.options = undefined;
    parameters.replication = undefined;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#broken = promise;
    this.#client.on('error', (error) => reject(sorted(error)));
    this.#breakOff = reject;
  }

  async login(): Promise<void> {
    const connected = this.#client.connect();
    // The driver listens by now: with a listener of ours alone, first bytes would be lost.
    let receivedBytes = 0;
    this.#socket.on('data', (chunk: Buffer) => {
      const isFirst = receivedBytes === 0;
      receivedBytes += chunk.length;
      if (isFirst && !firstMessages.has(chunk[0] ?? 0)) {
        const beginning = JSON.stringify(chunk.toString('latin1', 0, 20));
        this.#breakOff(
          new SqlMalformed(`the server answered with something else than PostgreSQL: ${beginning}`),
        );
      } else if (receivedBytes > maxBytes) {
        this.#breakOff(new SqlMalformed(`the server sent more than ${maxBytes} bytes`));
      } else return;
      this.#socket.destroy();
    });
    await this.#orBroken(connected);
  }

  async begin(): Promise<string> {
    const { isReadOnly, statementTimeoutMs } = this.#query;
    const statements = [
      isReadOnly ? 'BEGIN READ ONLY' : 'BEGIN',
      // For this transaction only: the connection may be that of a pooler.
      `SET LOCAL statement_timeout = ${Math.round(statementTimeoutMs)}`,
      'SHOW server_version',
    ];
    const results: unknown = await this.#orBroken(this.#client.query(statements.join('; ')));
    const last = Array.isArray(results)
      ? (results.at(-1) as pg.QueryResult<Record<string, string>>)
      : undefined;
    return last?.rows[0]?.['server_version']?.slice(0, 100) ?? '';
  }

  async run(): Promise<SqlAnswer> {
    const answer = await this.#orBroken(this.#answer());
    if (!this.#query.isReadOnly && !answer.isCut) await this.#orBroken(this.#client.query('COMMIT'));
    return answer;
  }

  async leave(): Promise<void> {
    if (this.#socket.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leaveMs);
    this.#client.end().then(resolve, () => resolve());
    await promise;
    clearTimeout(timer);
  }

  /** Rows are counted as they arrive, and not kept. */
  #answer(): Promise<SqlAnswer> {
    return new Promise((resolve, reject) => {
      let rowCount = 0;
      let first: { readonly text: string | null; readonly typeId: number } | undefined;
      // The extended protocol accepts a single statement, so that none can end the transaction and go on.
      const query = new pg.Query({
        text: this.#query.text,
        queryMode: 'extended',
        rowMode: 'array',
      } as pg.QueryConfig);
      const columnsOf = ({ fields }: { readonly fields?: readonly pg.FieldDef[] }) =>
        (fields ?? []).slice(0, 100).map(({ name }) => name.slice(0, 200));
      query.on('row', (row: unknown, result) => {
        rowCount += 1;
        const [text = null] = row as (string | null)[];
        first ??= { text, typeId: result?.fields[0]?.dataTypeID ?? 0 };
        if (rowCount < maxRows) return;
        resolve({ value: valueIn(first), rowCount, isCut: true, columns: columnsOf(result ?? {}) });
        this.#socket.destroy();
      });
      query.on('error', (error) => reject(sorted(error)));
      query.on('end', (result) => {
        resolve({ value: valueIn(first), rowCount, isCut: false, columns: columnsOf(result) });
      });
      this.#client.query(query);
    });
  }

  async #orBroken<Value>(step: Promise<Value>): Promise<Value> {
    try {
      return await Promise.race([step, this.#broken]);
    } catch (thrown) {
      throw thrown instanceof Error ? sorted(thrown) : thrown;
    }
  }
}

/** The driver connects its stream by itself: this one says that it is done. */
function asUnconnected(socket: Socket): Socket {
  const connect = () => {
    process.nextTick(() => socket.emit('connect'));
    return socket;
  };
  return Object.assign(socket, { connect });
}

/** Types by their ids in pg_type: int8, int2, int4, oid, float4, float8, numeric. */
const numericTypes: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
const booleanType = 16;

function valueIn(
  found: { readonly text: string | null; readonly typeId: number } | undefined,
): SqlAnswer['value'] {
  if (!found || found.text === null) return null;
  const { text, typeId } = found;
  if (typeId === booleanType) return text === 't';
  return numericTypes.has(typeId) && String(Number(text)) === text ? Number(text) : text;
}

/** Sorts an error of the driver: an answer of the server, something else than its protocol, or the connection. */
function sorted(error: Error): Error {
  if (error instanceof SqlRefusal || error instanceof SqlMalformed) return error;
  if (error instanceof pg.DatabaseError) {
    if (error.code === undefined) return new SqlMalformed(error.message);
    return new SqlRefusal(error.message, error.code);
  }
  // Errors of the connection have a code; those of the protocol do not.
  if ('code' in error && error.code !== undefined) return error;
  if (error.message.startsWith('Connection terminated')) {
    return Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' });
  }
  return new SqlMalformed(error.message);
}

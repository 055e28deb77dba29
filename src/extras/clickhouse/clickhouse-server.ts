import { toError } from '@picket/lib/errors.ts';
import { Agent } from 'undici';
import { errorCodeIn } from './foreign-texts.ts';

/** Location of ClickHouse from ANALYTICS_CLICKHOUSE_URL; never part of a message. */
interface Place {
  readonly origin: string;
  readonly database: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Error code for a missing table or column. */
export const unknownTable = 60;

/** An error response of ClickHouse; `code` is null if there was no response. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  readonly code: number | null;

  constructor(message: string, code: number | null, cause?: Error) {
    super(message, { cause });
    this.code = code;
  }
}

const connectMs = 3_000;
/** Time limit on the server for a query; the connection allows a little more. */
const querySeconds = 10;
const answerMs = 15_000;
/** The server buffers a larger response in a file. */
const bufferBytes = 64 * 1024 * 1024;
const longestMessage = 300;

/**
 * Client for the HTTP interface of ClickHouse, limited to features of servers since 18.16: no query parameters, and
 * only settings that all of them know.
 */
export class ClickHouseServer {
  readonly #place: Place;
  readonly #agent: Agent;

  constructor(url: string) {
    this.#place = placeOf(url);
    this.#agent = new Agent({
      connect: { timeout: connectMs },
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
      // Servers close connections that are idle for 3 to 10 s.
      keepAliveTimeout: 2_000,
    });
  }

  /** The database that its statements refer to. */
  get database(): string {
    return this.#place.database;
  }

  /** Executes a statement without a result. */
  async command(statement: string): Promise<void> {
    await this.#post({}, statement);
  }

  /** Inserts a block in the format `Native`. */
  async insert(table: string, columns: readonly string[], block: Buffer): Promise<void> {
    const names = columns.map(identifier).join(', ');
    await this.#post({ query: `insert into ${identifier(table)} (${names}) format Native` }, block);
  }

  /** Returns the complete response to a query that names its format: no part of one that fails midway. */
  async query(statement: string): Promise<Buffer> {
    return this.#post(
      { wait_end_of_query: '1', buffer_size: `${bufferBytes}`, max_execution_time: `${querySeconds}` },
      statement,
    );
  }

  /** Returns the rows of a query whose values contain no tabs or line breaks. */
  async rows(statement: string): Promise<string[][]> {
    const answer = (await this.query(`${statement} format TabSeparated`)).toString();
    return answer.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #post(settings: Readonly<Record<string, string>>, body: string | Buffer): Promise<Buffer> {
    const { origin, database, headers } = this.#place;
    const query = new URLSearchParams({ database, ...settings });
    let status: number;
    let answer: Buffer;
    try {
      const response = await this.#agent.request({
        ...{ method: 'POST', origin, path: `/?${query}`, headers, body },
      });
      status = response.statusCode;
      answer = Buffer.from(await response.body.arrayBuffer());
    } catch (thrown) {
      const error = toError(thrown);
      throw new ClickHouseError(`no answer (${error.message})`, null, error);
    }
    if (status === 200) return answer;
    const message = answer.toString('utf8', 0, longestMessage).trim();
    throw new ClickHouseError(message || `status ${status}`, errorCodeIn(message));
  }
}

function placeOf(url: string): Place {
  const { origin, pathname, username, password } = new URL(url);
  return {
    origin,
    database: decodeURIComponent(pathname.slice(1)) || 'default',
    headers: {
      'x-clickhouse-user': decodeURIComponent(username) || 'default',
      ...(password === '' ? {} : { 'x-clickhouse-key': decodeURIComponent(password) }),
    },
  };
}

/** Quotes a name for a statement. */
export function identifier(name: string): string {
  return `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;
}

/** Quotes a text for a statement. */
export function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}

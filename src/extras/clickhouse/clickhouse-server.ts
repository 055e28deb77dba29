import { toError } from '@picket/lib/errors.ts';
import { Agent } from 'undici';
import { errorCodeIn } from './foreign-texts.ts';

/** Where ClickHouse is, as ANALYTICS_CLICKHOUSE_URL says: nothing of it is in a message. */
interface Place {
  readonly origin: string;
  readonly database: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The code of an answer that names a table or a column that is not there. */
export const unknownTable = 60;

/** What ClickHouse answered instead of what it was asked for; without a code it gave no answer. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  readonly code: number | null;

  constructor(message: string, code: number | null, cause?: Error) {
    super(message, { cause });
    this.code = code;
  }
}

const connectMs = 3_000;
/** What the server gives a query; the connection gives it a little more. */
const querySeconds = 10;
const answerMs = 15_000;
/** An answer that is larger waits in a file of the server. */
const bufferBytes = 64 * 1024 * 1024;
const longestMessage = 300;

/**
 * ClickHouse over its HTTP interface, in the little that servers since 18.16 understand: no parameters in queries,
 * and settings that all of them know.
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

  /** The name of the database that its statements are about. */
  get database(): string {
    return this.#place.database;
  }

  /** Has it do something that answers nothing. */
  async command(statement: string): Promise<void> {
    await this.#post({}, statement);
  }

  /** Inserts a block of the format `Native`. */
  async insert(table: string, columns: readonly string[], block: Buffer): Promise<void> {
    const names = columns.map(identifier).join(', ');
    await this.#post({ query: `insert into ${identifier(table)} (${names}) format Native` }, block);
  }

  /** The answer to a query that names its format, in whole: nothing of one that failed on the way. */
  async query(statement: string): Promise<Buffer> {
    return this.#post(
      { wait_end_of_query: '1', buffer_size: `${bufferBytes}`, max_execution_time: `${querySeconds}` },
      statement,
    );
  }

  /** The rows of a query in which no value has a tab or a line break. */
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

/** A name as statements have it. */
export function identifier(name: string): string {
  return `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;
}

/** A text as statements have it. */
export function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}

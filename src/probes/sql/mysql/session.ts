import type { Socket } from 'node:net';
import { holdPreamble } from '../../preamble/exchange.ts';
import { type MysqlGreeting, mysqlAnswerHead, mysqlCapabilities, mysqlError } from '../../preamble/mysql.ts';
import { HungUp, Malformed } from '../../preamble/preamble.ts';
import {
  type SqlAnswer,
  SqlMalformed,
  SqlOverdue,
  type SqlQuery,
  SqlRefusal,
  type SqlSession,
} from '../session.ts';
import { type Column, columnIn, comparedValue, Fields, withLength, withZero } from './fields.ts';
import { greeted } from './greeted.ts';
import { loginMethods, methodRefusal } from './login-methods.ts';
import { closedByServer, MysqlPackets } from './packets.ts';

/** Enough for any answer that a check compares; the rest would only fill memory. */
const maxRows = 100_000;
const maxBytes = 8 * 1024 * 1024;
/** Tables of MySQL have no more. */
const maxColumns = 4096;
/** Long enough for a packet to leave; there is nothing else to wait for. */
const leaveMs = 100;
/** For the server to say itself that it cancelled the query. */
const graceMs = 500;

const commands = { quit: 1, query: 3 } as const;
const kinds = { ok: 0x00, more: 0x01, file: 0xfb, end: 0xfe, error: 0xff } as const;
const moreResults = 0x0008;
const unknownVariable = 1193;

/**
 * What the session can do: results of procedures, any login method. Several statements at once are not among it, nor
 * files of this host for the server (`LOAD DATA LOCAL`).
 */
export function wantedCapabilities({ database }: SqlQuery): number {
  const { longPassword, withDatabase, protocol41, transactions, secureConnection, multiResults } =
    mysqlCapabilities;
  const { pluginAuth, connectAttributes, longAuthData } = mysqlCapabilities;
  return (
    longPassword |
    protocol41 |
    transactions |
    secureConnection |
    multiResults |
    pluginAuth |
    connectAttributes |
    longAuthData |
    (database === '' ? 0 : withDatabase)
  );
}

/** A session of MySQL or MariaDB over a connection that exists already, with TLS or without. */
export class MysqlSession implements SqlSession {
  readonly #socket: Socket;
  readonly #query: SqlQuery;
  readonly #greetingBeforeTls: MysqlGreeting | undefined;
  #greeting: MysqlGreeting | undefined;
  #open: MysqlPackets | undefined;

  /** @param greetingBeforeTls which the server sent before TLS; absent without TLS, where it is still to come. */
  constructor(socket: Socket, query: SqlQuery, greetingBeforeTls: MysqlGreeting | undefined) {
    this.#socket = socket;
    this.#query = query;
    this.#greetingBeforeTls = greetingBeforeTls;
  }

  get #packets(): MysqlPackets {
    if (!this.#open) throw new Error('the session has not begun');
    return this.#open;
  }

  async login(): Promise<void> {
    const isSecure = this.#greetingBeforeTls !== undefined;
    const greeting = this.#greetingBeforeTls ?? (await this.#read());
    this.#greeting = greeting;
    // With TLS, its request was packet 1.
    this.#open = new MysqlPackets(this.#socket, { maxBytes, number: isSecure ? 2 : 1 });
    const needed = mysqlCapabilities.protocol41 | mysqlCapabilities.secureConnection;
    if ((greeting.capabilities & needed) !== needed) {
      throw new SqlMalformed('the server speaks a protocol before that of MySQL 4.1');
    }
    // A server names the method that most of its users have; for a user with another one it asks to switch.
    const first = loginMethods.has(greeting.plugin) && greeting.plugin !== 'mysql_clear_password';
    await this.#authenticate(greeting, first ? greeting.plugin : 'mysql_native_password', isSecure);
  }

  async begin(): Promise<string> {
    const { isReadOnly, statementTimeoutMs } = this.#query;
    const { serverVersion = '' } = this.#greeting ?? {};
    const isMariaDb = /mariadb/i.test(serverVersion);
    await this.#order(
      isMariaDb
        ? `SET SESSION max_statement_time = ${Math.round(statementTimeoutMs) / 1000}`
        : `SET SESSION max_execution_time = ${Math.round(statementTimeoutMs)}`,
      unknownVariable,
    );
    // For the session, too: a procedure can end the transaction and begin another one.
    if (isReadOnly) await this.#order('SET SESSION TRANSACTION READ ONLY');
    await this.#order(isReadOnly ? 'START TRANSACTION READ ONLY' : 'START TRANSACTION');
    // MariaDB begins with the version of MySQL that replicas of old versions take for theirs.
    return serverVersion.replace(/^5\.5\.5-(?=\d)/, '').slice(0, 100);
  }

  async run(): Promise<SqlAnswer> {
    const { statementTimeoutMs, text, isReadOnly } = this.#query;
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    // MySQL cancels no statement but SELECT; the end of the connection undoes the others.
    const timer = setTimeout(
      () => reject(new SqlOverdue(`the query took longer than ${statementTimeoutMs} ms`)),
      statementTimeoutMs + graceMs,
    );
    try {
      const answer = await Promise.race([overdue, this.#answer(text)]);
      if (!isReadOnly && !answer.isCut) await this.#order('COMMIT');
      return answer;
    } finally {
      clearTimeout(timer);
    }
  }

  async leave(): Promise<void> {
    if (this.#socket.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leaveMs);
    this.#socket.once('close', () => resolve());
    this.#open?.command(Buffer.from([commands.quit]));
    this.#socket.end();
    await promise;
    clearTimeout(timer);
  }

  /** Reads the greeting of a connection without TLS. */
  #read(): Promise<MysqlGreeting> {
    return new Promise((resolve, reject) => {
      let greeting: MysqlGreeting | undefined;
      const preamble = greeted((found) => {
        greeting = found;
      });
      holdPreamble(preamble, {
        socket: this.#socket,
        next: 'data',
        send: (data) => this.#socket.write(data),
        done: (error) => {
          if (greeting && !error) resolve(greeting);
          else if (error instanceof HungUp) reject(closedByServer());
          else reject(error instanceof Malformed ? new SqlMalformed(error.message) : error);
        },
      });
    });
  }

  /** Answers the greeting, and logs in by the method that the server wants in the end. */
  async #authenticate(greeting: MysqlGreeting, plugin: string, isSecure: boolean): Promise<void> {
    const { password, username, database } = this.#query;
    const begun = (name: string, salt: Buffer) => {
      const method = loginMethods.get(name);
      if (!method)
        throw methodRefusal(`it asks for the login method ${shown(name)}, which this check does not have`);
      return method({ password, salt, isSecure });
    };
    let method = begun(plugin, greeting.salt);
    const capabilities = wantedCapabilities(this.#query) | (isSecure ? mysqlCapabilities.tls : 0);
    this.#packets.send(
      Buffer.concat([
        mysqlAnswerHead(capabilities),
        withZero(username),
        withLength(method.next().value ?? Buffer.alloc(0)),
        database === '' ? Buffer.alloc(0) : withZero(database),
        withZero(plugin),
        withLength(
          Buffer.concat([withLength(Buffer.from('program_name')), withLength(Buffer.from('picket'))]),
        ),
      ]),
    );
    let hasSwitched = false;
    let isOver = false;
    for (;;) {
      const packet = await this.#packets.next();
      const kind = packet[0];
      if (kind === kinds.ok) return;
      if (kind === kinds.error) throw refusalIn(packet);
      if (kind === kinds.end && !hasSwitched) {
        hasSwitched = true;
        // Without a name it is the method of MySQL 4.0.
        const fields = new Fields(packet.subarray(1));
        const name = packet.length === 1 ? 'mysql_old_password' : fields.text();
        const salt = fields.rest();
        method = begun(name, salt.at(-1) === 0 ? salt.subarray(0, -1) : salt);
        this.#packets.send(method.next().value ?? Buffer.alloc(0));
      } else if (kind === kinds.more && !isOver) {
        const { value, done } = method.next(packet.subarray(1));
        if (done) isOver = true;
        else this.#packets.send(value);
      } else throw new SqlMalformed('the server answered the login with something else than MySQL');
    }
  }

  /** Runs a statement without an answer. @param tolerated code of an error that does not matter. @throws SqlRefusal */
  async #order(statement: string, tolerated?: number): Promise<void> {
    try {
      await this.#answer(statement);
    } catch (thrown) {
      if (!(thrown instanceof SqlRefusal) || thrown.errorCode !== tolerated) throw thrown;
    }
  }

  /** Rows are counted as they arrive, and not kept. */
  async #answer(statement: string): Promise<SqlAnswer> {
    const packets = this.#packets;
    packets.command(Buffer.concat([Buffer.from([commands.query]), Buffer.from(statement)]));
    let rowCount = 0;
    let first: SqlAnswer | undefined;
    for (;;) {
      const head = await packets.next();
      if (head[0] === kinds.error) throw refusalIn(head);
      if (head[0] === kinds.file) throw new SqlMalformed('the server asks for a file of the agent');
      if (head[0] === kinds.ok) {
        // A statement without rows, or the end of a procedure.
        first ??= { value: null, rowCount: 0, isCut: false, columns: [] };
        if (!hasMore(head)) return first;
        continue;
      }
      const columns = await this.#columns(new Fields(head).length() ?? 0);
      let value: SqlAnswer['value'] = null;
      let rows = 0;
      for (;;) {
        const row = packets.take() ?? (await packets.next());
        if (row[0] === kinds.error) throw refusalIn(row);
        if (isEnd(row)) {
          first ??= { value, rowCount: rows, isCut: false, columns: namesOf(columns) };
          if ((row.readUInt16LE(3) & moreResults) === 0) return first;
          break;
        }
        const [column] = columns;
        if (rows === 0 && column) value = comparedValue(new Fields(row).value(), column);
        rows += 1;
        rowCount += 1;
        if (rowCount < maxRows) continue;
        this.#socket.destroy();
        return { ...(first ?? { value, rowCount: rows, columns: namesOf(columns) }), isCut: true };
      }
    }
  }

  async #columns(count: number): Promise<Column[]> {
    if (count === 0 || count > maxColumns) throw new SqlMalformed(`the server announces ${count} columns`);
    const columns: Column[] = [];
    while (columns.length < count) columns.push(columnIn(await this.#packets.next()));
    if (!isEnd(await this.#packets.next())) throw new SqlMalformed('the columns of the answer have no end');
    return columns;
  }
}

function namesOf(columns: readonly Column[]): string[] {
  return columns.slice(0, 100).map(({ name }) => name.slice(0, 200));
}

/** Whether a packet ends columns or rows; a row that begins with the same byte is longer. */
function isEnd(packet: Buffer): boolean {
  return packet[0] === kinds.end && packet.length === 5;
}

/** Whether a packet that says "done" announces a further result. */
function hasMore(packet: Buffer): boolean {
  const fields = new Fields(packet.subarray(1));
  // Rows that changed, and the id of the last one.
  fields.length();
  fields.length();
  return (fields.number(2) & moreResults) !== 0;
}

function refusalIn(packet: Buffer): SqlRefusal {
  const { message, sqlState, errorCode } = mysqlError(packet);
  return new SqlRefusal(message, sqlState, errorCode);
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

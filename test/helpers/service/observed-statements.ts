import { DatabaseSync } from 'node:sqlite';
import { type CompiledQuery, DefaultQueryExecutor, type QueryResult } from 'kysely';

/** Equal statements of one place in the code, and how often their values and rows belonged to how many accounts. */
export interface ObservedStatements {
  /** The file below its package, and the function that sent them: `runs/store expire`. */
  readonly from: string;
  readonly text: string;
  readonly counts: Record<'none' | 'one' | 'several', number>;
  /** Rows in the result that each contain data of two accounts. */
  readonly mixedRows: number;
}

interface Statement {
  readonly from: string;
  readonly text: string;
  /** Possible keys among the parameters and in each row of the result. */
  readonly given: ReadonlySet<Key>;
  readonly rows: readonly ReadonlySet<Key>[];
}

type Key = string | number;

/** Shorter texts are names and states, which accounts share. */
const shortestKey = 12;
/**
 * The range of ids of numbered rows, so that a number identifies its row. Instants and most sizes are above it, counts
 * below.
 */
const [firstNumber, numbersEach, lastNumber] = [100_000_000, 1_000_000, 999_999_999];

/**
 * Watches every statement of this process's stores until it is disposed. The values and rows of a statement show its
 * account: a text or number that occurs only in rows of one account is a key of that account.
 */
export class StatementObserver implements Disposable {
  readonly #path: string;
  #statements: Statement[] = [];
  readonly #accountsOf = new Map<Key, Set<string>>();
  readonly #prototype = DefaultQueryExecutor.prototype;

  /** @param path of the SQLite database, which must be empty. */
  constructor(path: string) {
    this.#path = path;
    numberApart(path);
    const observe = (statement: Statement) => this.#statements.push(statement);
    const base = Object.getPrototypeOf(this.#prototype) as DefaultQueryExecutor;
    Object.assign(this.#prototype, {
      async executeQuery(this: DefaultQueryExecutor, query: CompiledQuery, options: never) {
        const from = callerOf(new Error().stack ?? '');
        const result: QueryResult<unknown> = await base.executeQuery.call(this, query, options);
        observe({ from, text: query.sql, given: keysIn(query.parameters), rows: result.rows.map(keysIn) });
        return result;
      },
    });
  }

  [Symbol.dispose](): void {
    Reflect.deleteProperty(this.#prototype, 'executeQuery');
  }

  /** Learns the current owner of each key. Keys of rows that are deleted later stay known. */
  learn(): void {
    const database = new DatabaseSync(this.#path, { readOnly: true });
    const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all();
    for (const { name } of tables) {
      for (const row of database.prepare(`select * from "${name}"`).all()) {
        if (typeof row.account_id !== 'string') continue;
        for (const key of keysIn(row)) {
          const accounts = this.#accountsOf.get(key) ?? new Set();
          accounts.add(row.account_id);
          this.#accountsOf.set(key, accounts);
        }
      }
    }
    database.close();
  }

  /** Forgets observed statements, but not keys. */
  startAnew(): void {
    this.#statements = [];
  }

  /** Observed statements, by place and text. */
  observed(): ObservedStatements[] {
    const found = new Map<string, ObservedStatements & { mixedRows: number }>();
    for (const { from, text: whole, given, rows } of this.#statements) {
      const text = whole.replaceAll(/\(\?(, \?)*\)(, \(\?(, \?)*\))*/g, '(?)').replaceAll(/\s+/g, ' ');
      const key = `${from} ${text}`;
      const entry = found.get(key) ?? { from, text, counts: { none: 0, one: 0, several: 0 }, mixedRows: 0 };
      found.set(key, entry);
      const accounts = this.#ownersOf(given);
      for (const row of rows) {
        const owners = this.#ownersOf(row);
        if (owners.size > 1) entry.mixedRows += 1;
        for (const owner of owners) accounts.add(owner);
      }
      entry.counts[accounts.size === 0 ? 'none' : accounts.size === 1 ? 'one' : 'several'] += 1;
    }
    return [...found.values()];
  }

  #ownersOf(keys: ReadonlySet<Key>): Set<string> {
    const found = new Set<string>();
    for (const key of keys) {
      const owners = this.#accountsOf.get(key);
      if (owners?.size === 1) for (const owner of owners) found.add(owner);
    }
    return found;
  }
}

/** The first function of the project on the stack that is not part of the database layer. */
function callerOf(stack: string): string {
  for (const line of stack.split('\n').slice(2)) {
    const [, name = '', path = ''] =
      /^\s+at (?:async )?(?:(.*?) \()?(?:file:\/\/)?(.*?):\d+:\d+\)?$/.exec(line) ?? [];
    if (!/\/src\//.test(path) || /store\/engine\/(?!account-table)/.test(path)) continue;
    const file = path.replace(/.*\/src\/(?:platform|service|console)\//, '');
    return `${file.replace(/\.ts$/, '')} ${name.replace(/^.*[.#]| \[as.*$/g, '') || 'anonymous'}`;
  }
  return 'unknown';
}

function keysIn(value: unknown): Set<Key> {
  const keys = new Set<Key>();
  collect(value, keys);
  return keys;
}

function collect(value: unknown, keys: Set<Key>): void {
  if (typeof value === 'number') {
    if (value >= firstNumber && value <= lastNumber) keys.add(value);
  } else if (typeof value === 'string') {
    if (value.length < shortestKey) return;
    keys.add(value);
    if (/^[[{]/.test(value)) {
      try {
        collect(JSON.parse(value), keys);
      } catch {
        // A text that only looks like JSON.
      }
    }
  } else if (Array.isArray(value)) for (const one of value) collect(one, keys);
  else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const one of Object.values(value)) collect(one, keys);
  }
}

/** Gives numbered rows ids that no row of another table has. */
function numberApart(path: string): void {
  const database = new DatabaseSync(path);
  const tables = database.prepare(`select name from sqlite_master where sql like '%autoincrement%'`).all();
  database.exec('delete from sqlite_sequence');
  const insert = database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)');
  for (const [index, { name }] of tables.entries()) insert.run(name ?? '', firstNumber + index * numbersEach);
  database.close();
}

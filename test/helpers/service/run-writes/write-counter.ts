import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type CompiledQuery, DefaultQueryExecutor, type QueryResult } from 'kysely';

/** Equal statements of a step. */
export interface CountedStatement {
  /** Its writes, such as `insert results, insert statuses`; empty if it only reads. */
  readonly writes: string;
  /** Indexes that it opens for writing; empty where the engine does not say. */
  readonly indexes: readonly string[];
  times: number;
  rows: number;
}

export interface CountedStep {
  readonly name: string;
  readonly statements: readonly CountedStatement[];
}

export interface WriteCounter extends AsyncDisposable {
  /** Ends a step: statements that follow belong to the next one. */
  ended(name: string): void;
  steps(): CountedStep[];
}

/** A statement of the service, and the rows that it returned or changed. */
interface Sent {
  readonly text: string;
  readonly rows: number;
}

/** Counts the statements of this process's stores. @param folder of a database on SQLite, which names its indexes. */
export function watchWrites({ folder }: { readonly folder?: string }): WriteCounter {
  const prototype = DefaultQueryExecutor.prototype;
  const base = Object.getPrototypeOf(prototype) as DefaultQueryExecutor;
  const steps: { readonly name: string; readonly sent: readonly Sent[] }[] = [];
  let sent: Sent[] = [];
  Object.assign(prototype, {
    async executeQuery(this: DefaultQueryExecutor, query: CompiledQuery, options: never) {
      const result: QueryResult<unknown> = await base.executeQuery.call(this, query, options);
      sent.push({ text: query.sql, rows: Number(result.numAffectedRows ?? 0) || result.rows.length });
      return result;
    },
  });
  return {
    ended(name) {
      steps.push({ name, sent });
      sent = [];
    },
    steps() {
      using indexes = new IndexNames(folder);
      return steps.map((step) => ({ name: step.name, statements: counted(step.sent, indexes) }));
    },
    async [Symbol.asyncDispose]() {
      Reflect.deleteProperty(prototype, 'executeQuery');
    },
  };
}

function counted(sent: readonly Sent[], indexes: IndexNames): CountedStatement[] {
  const found = new Map<string, CountedStatement>();
  for (const { text, rows } of sent) {
    const writes = [...text.matchAll(/\b(insert into|update|delete from) "?([a-z_]+)"?(?= |\()/g)]
      .map(([, verb = '', table]) => `${verb.split(' ')[0]} ${table}`)
      .filter((write) => !/^update (set|skip|of)$/.test(write))
      .join(', ');
    const entry = found.get(writes) ?? { writes, indexes: indexes.changedBy(text), times: 0, rows: 0 };
    found.set(writes, entry);
    entry.times += 1;
    entry.rows += rows;
  }
  return [...found.values()];
}

/** Names the indexes that statements write to, as SQLite's own program of the statement opens them. */
class IndexNames implements Disposable {
  readonly #database: DatabaseSync | undefined;
  readonly #names = new Map<number, string>();

  constructor(folder: string | undefined) {
    if (folder === undefined) return;
    this.#database = new DatabaseSync(join(folder, 'picket.sqlite'), { readOnly: true });
    const rows = this.#database
      .prepare(`select name, rootpage from sqlite_schema where type = 'index'`)
      .all();
    for (const { name, rootpage } of rows) this.#names.set(Number(rootpage), String(name));
  }

  changedBy(text: string): string[] {
    const steps = this.#database?.prepare(`explain ${text}`).all() ?? [];
    return steps.flatMap(({ opcode, p2 }) =>
      opcode === 'OpenWrite' ? (this.#names.get(Number(p2)) ?? []) : [],
    );
  }

  [Symbol.dispose](): void {
    this.#database?.close();
  }
}

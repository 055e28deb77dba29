import { DatabaseSync } from 'node:sqlite';
import type { Kysely, KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import type { Tables } from '../../../src/platform/store/tables.ts';

/** What some work asked of a database, and how much it got. */
export interface RecordedStatements {
  readonly statementCount: number;
  readonly rowCount: number;
  /** How SQLite would carry out the statements, a step on each line. */
  readonly plans: string;
}

/** Records the statements of work on the embedded database, to ask it how it would carry them out. */
export async function recordStatements(
  path: string,
  db: Kysely<Tables>,
  work: (recording: Kysely<Tables>) => Promise<unknown>,
): Promise<RecordedStatements> {
  const statements: PluginTransformQueryArgs['node'][] = [];
  let rowCount = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements.push(node);
      return node;
    },
    transformResult: async ({ result }: PluginTransformResultArgs) => {
      rowCount += result.rows.length;
      return result;
    },
  };
  await work(db.withPlugin(plugin));
  const database = new DatabaseSync(path);
  const lines = new Set<string>();
  for (const node of statements) {
    const { sql: text, parameters } = db.getExecutor().compileQuery(node, { queryId: '' } as never);
    const steps = database.prepare(`explain query plan ${text}`).all(...(parameters as (string | number)[]));
    for (const { detail } of steps) lines.add(String(detail));
  }
  database.close();
  return { statementCount: statements.length, rowCount, plans: [...lines].join('\n') };
}

/** Inserts a row with as little in it as the schema takes, unless it says more. */
export function insertWithDefaults(
  path: string,
  table: string,
  ...rows: readonly Readonly<Record<string, string | number>>[]
): void {
  const database = new DatabaseSync(path);
  const needed = database
    .prepare(`pragma table_info(${table})`)
    .all()
    .filter(({ notnull }) => notnull);
  const defaults: Record<string, string | number> = Object.fromEntries(
    needed.map(({ name, type }) => [name, type === 'INTEGER' ? 0 : 'x']),
  );
  database.exec('begin');
  for (const row of rows) {
    const values: Record<string, string | number> = { ...defaults, ...row };
    const names = Object.keys(values);
    database
      .prepare(`insert into ${table} (${names}) values (${names.map(() => '?')})`)
      .run(...Object.values(values));
  }
  database.exec('commit');
  database.close();
}

import { DatabaseSync } from 'node:sqlite';
import type { Kysely, KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import type { Tables } from '../../../src/platform/store/tables.ts';

/** The statements of some work, and the number of rows that they returned. */
export interface RecordedStatements {
  readonly statementCount: number;
  readonly rowCount: number;
  /** SQLite's query plans of the statements, one step per line. */
  readonly plans: string;
}

/** Records the statements of some work on the embedded database, to explain their query plans. */
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

/** Inserts a row with the minimal values that the schema accepts, plus the given ones. */
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

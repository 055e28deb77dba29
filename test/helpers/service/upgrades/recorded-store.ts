import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { brotliDecompressSync } from 'node:zlib';

type Value = string | number | null | { readonly base64: string };
type Row = Readonly<Record<string, Value>>;

/** Everything that a build has stored. */
export interface RecordedStore {
  /** The migrations that the build knew, in order. */
  readonly migrations: readonly string[];
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  /** The ids of stored objects, by their API paths in that build. */
  readonly known: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** The shapes that the build stores (shapes.ts); absent for builds that could not record them. */
  readonly shapes?: Readonly<Record<string, string>>;
}

const folder = join(import.meta.dirname, 'stores');

/** The names of the recorded stores, oldest first. */
export function recordedStores(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json.br'))
    .map((file) => basename(file, '.json.br'))
    .toSorted();
}

export function readRecordedStore(name: string): RecordedStore {
  return JSON.parse(String(brotliDecompressSync(readFileSync(join(folder, `${name}.json.br`)))));
}

/** All rows of an SQLite store. */
export function storedRows(path: string): Pick<RecordedStore, 'migrations' | 'tables'> {
  const database = new DatabaseSync(path, { readOnly: true });
  const names = database
    .prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`)
    .all() as { name: string }[];
  const tables: Record<string, Row[]> = {};
  for (const { name } of names) {
    if (name === 'schema_migrations') continue;
    const rows = database.prepare(`select * from "${name}"`).all();
    if (rows.length > 0) tables[name] = rows.map(plain);
  }
  const applied = database.prepare('select name from schema_migrations order by position').all();
  database.close();
  return { migrations: applied.map(({ name }) => String(name)), tables };
}

function plain(row: Record<string, unknown>): Row {
  const values = Object.entries(row).map(([column, value]) => [
    column,
    value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value,
  ]);
  return Object.fromEntries(values);
}

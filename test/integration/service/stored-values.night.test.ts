import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { inhabit } from '../../helpers/service/api-requests/inhabited-account.ts';
import { metricsToken, openHarness, temporaryFolder } from '../../helpers/service/service.ts';
import { readEverything } from '../../helpers/service/upgrades/read-everything.ts';

type Json = Record<string, unknown>;

/** Every stored text that is a JSON object, with its place. */
class StoredObjects {
  readonly #database: DatabaseSync;
  readonly #objects: {
    readonly table: string;
    readonly column: string;
    readonly row: number;
    readonly text: string;
  }[] = [];

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec('pragma busy_timeout = 60000');
    const tables = this.#database.prepare(`select name from sqlite_master where type = 'table'`).all();
    for (const { name } of tables) {
      for (const row of this.#database.prepare(`select rowid as row_id, * from "${name}"`).all()) {
        for (const [column, text] of Object.entries(row)) {
          if (typeof text !== 'string' || !text.startsWith('{')) continue;
          this.#objects.push({ table: String(name), column, row: Number(row.row_id), text });
        }
      }
    }
  }

  get columns(): ReadonlySet<string> {
    return new Set(this.#objects.map(({ table, column }) => `${table}.${column}`));
  }

  get mostKeys(): number {
    return Math.max(...this.#objects.map(({ text }) => pathsIn(JSON.parse(text)).length));
  }

  /** @returns the number of changed objects. */
  change(changed: (object: Json) => string | undefined): number {
    let count = 0;
    this.#database.exec('begin immediate');
    for (const { table, column, row, text } of this.#objects) {
      const next = changed(JSON.parse(text) as Json);
      if (next !== undefined) count += 1;
      this.#database.prepare(`update "${table}" set "${column}" = ? where rowid = ?`).run(next ?? text, row);
    }
    this.#database.exec('commit');
    return count;
  }

  close(): void {
    this.#database.close();
  }
}

/** The paths of an object's fields, including nested objects. */
function pathsIn(value: Json, before: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([key, child]) => {
    const path = [...before, key];
    const isNested = typeof child === 'object' && child !== null && !Array.isArray(child);
    return [path, ...(isNested ? pathsIn(child as Json, path) : [])];
  });
}

function without(value: Json, [key = '', ...rest]: readonly string[]): Json {
  const copy = { ...value };
  if (rest.length === 0) delete copy[key];
  else copy[key] = without(copy[key] as Json, rest);
  return copy;
}

/** Values that today's validation refuses: empty texts, invalid numbers and names. */
function outdated(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(outdated);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, outdated(child)]));
  }
  if (typeof value === 'number') return -1;
  return value;
}

it('are shown whatever fields they lack, whatever is refused today, and whichever cannot be read', async () => {
  const folder = temporaryFolder();
  const harness = await openHarness({ folder: folder.path });
  await inhabit(harness);
  const objects = new StoredObjects(join(folder.path, 'picket.sqlite'));
  expect(objects.columns.size).toBeGreaterThan(15);
  const read = async () => (await readEverything(harness, harness.accountId)).problems;
  expect(await read()).toEqual([]);

  // One field of each object at a time: the first of each, then the second of each, and so on.
  for (let place = 0; place < objects.mostKeys; place += 1) {
    const removed: string[] = [];
    objects.change((object) => {
      const path = pathsIn(object)[place];
      if (!path) return undefined;
      removed.push(path.join('.'));
      return JSON.stringify(without(object, path));
    });
    const problems = (await read()).filter((problem) => / [45]\d\d /.test(problem));
    expect(problems, `without ${[...new Set(removed)].join(', ')}`).toEqual([]);
  }

  objects.change((object) => JSON.stringify(outdated(object)));
  expect((await read()).filter((problem) => / [45]\d\d /.test(problem))).toEqual([]);

  let count = 0;
  objects.change(() => (count++ % 2 === 0 ? '{"cut off' : undefined));
  expect((await read()).filter((problem) => / [45]\d\d /.test(problem))).toEqual([]);
  const metrics = await harness.call('GET', '/metrics', undefined, { key: metricsToken });
  expect(metrics.body).toMatch(
    /picket_odd_stored_values_total\{kind="value",where="checks.definition"\} [1-9]/,
  );
  expect(metrics.body).toMatch(/picket_odd_stored_values_total\{kind="answer",where="[^"]+"\} [1-9]/);
  objects.close();
  await harness.close();
  folder.remove();
});

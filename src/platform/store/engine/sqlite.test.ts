import { Kysely, sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import type { Tables } from '../tables.ts';
import { insertedOneByOne } from './insertions.ts';
import { sqliteKyselyDialect } from './sqlite.ts';

const db = new Kysely<Tables>({ dialect: sqliteKyselyDialect(':memory:') });
const types = { name: 'text', at: 'bigint' } as never;
const rowsOf = (...pairs: readonly [string, number | null][]) =>
  pairs.map(([name, at]) => ({ name, at })) as never;
const insertion = { db, table: 'clock_marks' as never, types } as const;
const all = async () => (await sql`select * from clock_marks order by name`.execute(db)).rows;

afterEach(async () => {
  await sql`drop table if exists clock_marks`.execute(db);
});

it('inserts rows one by one, with values of the rest of the statement, and says which were new', async () => {
  await sql`create table clock_marks (name text primary key, at bigint)`.execute(db);
  expect(insertedOneByOne.inserting({ ...insertion, rows: [] })).toEqual([]);
  const [change] = insertedOneByOne.inserting(
    { ...insertion, rows: rowsOf(['a', 1], ['b', null], ['a', 7]) },
    (insert) =>
      insert.onConflict((conflict) => conflict.doUpdateSet({ at: sql`excluded.at + ${100}` } as never)),
  );
  await change?.execute();
  expect(await all()).toEqual([
    { name: 'a', at: 107 },
    { name: 'b', at: null },
  ]);
  const rows = rowsOf(['b', 5], ['c', 6], ['c', 8]);
  const added = await insertedOneByOne.insertNew(
    { ...insertion, rows, unless: sql<boolean>`false` },
    'name' as never,
  );
  expect(added).toEqual([{ name: 'c', at: 6 }]);
  expect(await all()).toContainEqual({ name: 'c', at: 6 });
});

it('reads rows with columns of one name, with names like numbers, and with a column that a table got later', async () => {
  await sql`create table clock_marks (name text, at bigint)`.execute(db);
  await sql`insert into clock_marks values ('a', 1)`.execute(db);
  expect(await all()).toEqual([{ name: 'a', at: 1 }]);
  const twice = await sql`select at, at + 1 as at from clock_marks`.execute(db);
  expect(twice.rows).toEqual([{ at: 2 }]);
  const numbered = await sql`select 'x' as "2", 'y' as "1" from clock_marks`.execute(db);
  expect(numbered.rows).toEqual([{ 1: 'y', 2: 'x' }]);
  await sql`alter table clock_marks add column more text default 'm'`.execute(db);
  expect(await all()).toEqual([{ name: 'a', at: 1, more: 'm' }]);
});

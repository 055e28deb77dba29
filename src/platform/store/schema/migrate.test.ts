import { type Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectSqlite, type Dialect } from '../engine/dialect.ts';
import type { Tables } from '../tables.ts';
import { migrate } from './migrate.ts';

const first = { name: '0001 first', statements: ['create table one (id text)'] };
const second = { name: '0002 second', statements: ['create table two (id text)'] };

describe('migrations', () => {
  let db: Kysely<Tables>;
  let dialect: Dialect;
  beforeEach(() => {
    ({ db, dialect } = connectSqlite(':memory:', () => undefined));
  });
  afterEach(() => db.destroy());

  it('are applied once each, in the order of their names', async () => {
    const checksummed = 'alter table schema_migrations add column checksum text';
    const known = [second, { ...first, statements: [...first.statements, checksummed] }];
    await migrate(db, dialect, known);
    await migrate(db, dialect, known);
    const { rows } = await sql<{
      name: string;
    }>`select name from schema_migrations order by position`.execute(db);
    expect(rows.map(({ name }) => name)).toEqual([first.name, second.name]);
  });

  it('omit those for the other engine', async () => {
    const checksummed = 'alter table schema_migrations add column checksum text';
    const statements = [checksummed, '{postgres} alter table one set (fillfactor = 70)', ...first.statements];
    await migrate(db, dialect, [{ ...first, statements }]);
    await expect(sql`select id from one`.execute(db)).resolves.toMatchObject({ rows: [] });
  });

  it('that were applied in a different version are refused, by name', async () => {
    const checksummed = 'alter table schema_migrations add column checksum text';
    const start = { ...first, statements: [checksummed] };
    await migrate(db, dialect, [start, second]);
    const other = { ...second, statements: ['create table other (id text)'] };
    await expect(migrate(db, dialect, [start, other])).rejects.toThrow(
      /another version of the migration "0002 second"/,
    );
    await migrate(db, dialect, [start, second]);
  });

  it('of a newer build are refused', async () => {
    const start = { ...first, statements: ['alter table schema_migrations add column checksum text'] };
    await migrate(db, dialect, [start, second]);
    await expect(migrate(db, dialect, [start])).rejects.toThrow(/newer build/);
  });
});

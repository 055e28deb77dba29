import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { connectSqlite } from '../engine/dialect.ts';
import { SealedColumns } from './sealed-columns.ts';
import { SecretBox } from './secret-box.ts';

it('runs no statement that changes a sealed column inside one that is written out', async () => {
  const { db: plain } = connectSqlite(':memory:', () => undefined);
  const db = plain.withPlugin(new SealedColumns(new SecretBox(undefined)));
  const together = (change: Parameters<typeof sql>[1]) =>
    sql`with changed as (${change}) select 1`.execute(db);
  const change = { definition: '{}' };
  await expect(together(sql.join([db.updateTable('checks').set(change)]))).rejects.toThrow('sealed column');
  const values = { check_id: 'c', created: 1 };
  await expect(together(db.insertInto('purges').values(values))).rejects.not.toThrow('sealed column');
  await db.destroy();
});

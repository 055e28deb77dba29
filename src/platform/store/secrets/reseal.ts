import { type Kysely, sql } from 'kysely';
import type { Tables } from '../tables.ts';
import { keyOfValue, openValue, sealedTables, sealValue } from './sealed-columns.ts';
import { type SecretBox, unknownKey } from './secret-box.ts';

const rowsPerTurn = 200;

type Row = Record<string, string | number | null>;

/**
 * Brings every stored secret under the present key: those that were stored in clear, and those that an older
 * key sealed. Each is changed only if it is still what was read. Without a key, and with the old one among
 * the old keys, they are in clear afterwards.
 *
 * @param db without the plugin that seals and opens.
 * @returns how many values were changed.
 * @throws AppError CONFIG_INVALID when one was sealed with a key that is not known, before anything changes.
 */
export async function resealSecrets(db: Kysely<Tables>, box: SecretBox): Promise<number> {
  const keys = await sql<{ key_id: string }>`select key_id from secret_keys`.execute(db);
  for (const { key_id: keyId } of keys.rows) if (!box.knows(keyId)) throw unknownKey(keyId);
  if (box.keyId !== undefined) {
    await sql`insert into secret_keys (key_id) values (${box.keyId}) on conflict do nothing`.execute(db);
  } else if (keys.rows.length === 0) return 0;
  let count = 0;
  for (const table of Object.keys(sealedTables)) count += await resealTable(db, box, table);
  await sql`delete from secret_keys where key_id <> ${box.keyId ?? ''}`.execute(db);
  return count;
}

async function resealTable(db: Kysely<Tables>, box: SecretBox, table: string): Promise<number> {
  const { keys = [], columns = {} } = sealedTables[table] ?? {};
  const names = [...keys, ...Object.keys(columns)].map((name) => sql.ref(name));
  const order = sql.join(keys.map((name) => sql.ref(name)));
  let count = 0;
  let last: Row | undefined;
  for (;;) {
    const behind = last
      ? sql`where (${order}) > (${sql.join(keys.map((name) => sql`${last?.[name] ?? null}`))})`
      : sql``;
    const { rows } = await sql<Row>`select ${sql.join(names)} from ${sql.table(table)} ${behind}
      order by ${order} limit ${sql.lit(rowsPerTurn)}`.execute(db);
    for (const row of rows) {
      for (const [name, kind] of Object.entries(columns)) {
        const stored = row[name];
        if (typeof stored !== 'string' || keyOfValue(kind, stored) === box.keyId) continue;
        const sealed = sealValue(box, kind, openValue(box, kind, stored));
        if (sealed === stored) continue;
        const isThisRow = sql.join(
          keys.map((key) => sql`${sql.ref(key)} = ${row[key]}`),
          sql` and `,
        );
        await sql`update ${sql.table(table)} set ${sql.ref(name)} = ${sealed}
          where ${isThisRow} and cast(${sql.ref(name)} as text) = ${stored}`.execute(db);
        count += 1;
      }
    }
    last = rows.at(-1);
    if (rows.length < rowsPerTurn) return count;
  }
}

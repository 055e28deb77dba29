import { type Kysely, sql } from 'kysely';
import type { Tables } from '../tables.ts';
import { keyOfValue, openValue, sealedTables, sealValue } from './sealed-columns.ts';
import { type SecretBox, unknownKey } from './secret-box.ts';

const rowsPerTurn = 200;

type Row = Record<string, string | number | null>;

/**
 * Encrypts every stored secret with the present key: those stored in clear, and those sealed with an older key. A value
 * that has changed since it was read stays. Without a present key it decrypts all, given their key is among the old
 * keys.
 *
 * @param db without the plugin that seals and opens.
 * @returns the number of changed values.
 * @throws AppError CONFIG_INVALID when a value is sealed with an unknown key, before anything changes.
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

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../../../src/lib/clock.ts';
import type { KeyRole } from '../../../src/platform/ids/keys.ts';
import { openStore } from '../../../src/server/compose.ts';
import { addAccount, addKey } from '../../../src/service/accounts/accounts.ts';
import { quietLogger } from '../../helpers/service/service.ts';

export interface BenchAccount {
  readonly accountId: string;
  readonly keys: Readonly<Record<KeyRole, string>>;
}

export interface BenchPlace {
  readonly databaseUrl?: string;
  readonly dataDir: string;
}

/** Creates an account with a key of each role, while no service runs. */
export async function createAccount({ databaseUrl, dataDir }: BenchPlace): Promise<BenchAccount> {
  const store = await openStore({ databaseUrl, path: join(dataDir, 'picket.sqlite'), logger: quietLogger });
  try {
    const { accountId } = await addAccount(store, systemClock, 'bench');
    const roles = ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;
    const keys: [KeyRole, string][] = [];
    for (const role of roles) {
      keys.push([role, (await addKey(store, systemClock, { accountId, name: role, role })).rawKey]);
    }
    return { accountId, keys: Object.fromEntries(keys) as Record<KeyRole, string> };
  } finally {
    await store.close();
  }
}

/** Moves every second check, with its results, to another account. */
export async function shareChecks({ databaseUrl, dataDir }: BenchPlace, accountId: string): Promise<void> {
  const odd = `in (select id from checks where name like 'check %' and cast(substr(name, 7) as integer) % 2 = 1)`;
  const statements = [
    ...['runs', 'results', 'statuses'].map(
      (table) => `update ${table} set account_id = '${accountId}' where check_id ${odd}`,
    ),
    `update checks set account_id = '${accountId}' where id ${odd}`,
  ];
  if (databaseUrl === undefined) {
    const database = new DatabaseSync(join(dataDir, 'picket.sqlite'));
    for (const statement of statements) database.exec(statement);
    database.exec('analyze');
    database.close();
    return;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.query('vacuum analyze');
  await client.end();
}

/** Waits until no more results are being sealed. */
export async function untilSealed({ databaseUrl, dataDir }: BenchPlace): Promise<void> {
  const counting = 'select count(*) as count from result_chunks';
  const client = databaseUrl === undefined ? undefined : new pg.Client({ connectionString: databaseUrl });
  const database = client ? undefined : new DatabaseSync(join(dataDir, 'picket.sqlite'), { readOnly: true });
  await client?.connect();
  const count = async () =>
    Number(client ? (await client.query(counting)).rows[0].count : database?.prepare(counting).get()?.count);
  let before = -1;
  for (let now = await count(); now === 0 || now !== before; now = await count()) {
    before = now;
    await delay(5_000);
  }
  database?.close();
  await client?.end();
}

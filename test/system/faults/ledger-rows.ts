import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { LedgerRows } from './history.ts';

const queries = {
  runs: `select id, check_id as "checkId", slot_location as "slotLocation", slot_at as "slotAt", slot_count as "slotCount",
           state, reason, lease_number as "leaseNumber", created, ended from runs`,
  results: `select id, run_id as "runId", check_id as "checkId", result_type as "type", attempts as "attempt", created,
              started, stopped, has_failures as "hasFailures", has_errors as "hasErrors", code, message from results`,
  stale: 'select id, run_id as "runId", lease_number as "leaseNumber" from stale_results',
} as const;

const unfinished = "select count(*) as n from runs where state in ('queued', 'leased')";

/** The ledger as an auditor reads it: from the database itself, not through the service. */
export interface LedgerReader {
  /** Number of runs that are not terminal yet. */
  countUnfinished(): Promise<number>;
  readAll(): Promise<LedgerRows>;
}

export function sqliteLedger(dataDir: string): LedgerReader {
  const reading = <T>(work: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(join(dataDir, 'picket.sqlite'), { readOnly: true });
    try {
      database.exec('pragma busy_timeout = 5000');
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    countUnfinished: async () =>
      reading((database) => (database.prepare(unfinished).get() as { n: number }).n),
    readAll: async () =>
      reading(
        (database) =>
          Object.fromEntries(
            Object.entries(queries).map(([name, text]) => [name, database.prepare(text).all()]),
          ) as unknown as LedgerRows,
      ),
  };
}

export function postgresLedger(databaseUrl: string): LedgerReader {
  const reading = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on('error', () => undefined);
    client.setTypeParser(20, Number);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  return {
    countUnfinished: () =>
      reading(async (client) => (await client.query<{ n: number }>(unfinished)).rows[0]?.n ?? 0),
    readAll: () =>
      reading(async (client) => {
        const rows: [string, unknown[]][] = [];
        for (const [name, text] of Object.entries(queries))
          rows.push([name, (await client.query(text)).rows]);
        return Object.fromEntries(rows) as unknown as LedgerRows;
      }),
  };
}

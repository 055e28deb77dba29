import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** One run in the ledger, with its results. */
export interface LedgerRun {
  readonly id: string;
  readonly checkId: string;
  readonly slotAt: number;
  readonly slotCount: number;
  readonly state: string;
  readonly reason: string | null;
  readonly leaseNumber: number;
  readonly agentId: string | null;
  readonly finals: number;
  readonly startedAt: number | null;
  readonly responseTimeMs: number | null;
}

/** Reads the ledger of a running service on SQLite from outside, like an auditor. */
export function readLedger(dataDir: string): LedgerRun[] {
  const database = new DatabaseSync(join(dataDir, 'picket.sqlite'), { readOnly: true });
  try {
    return database
      .prepare(
        `select runs.id as id, runs.check_id as "checkId", runs.slot_at as "slotAt", slot_count as "slotCount",
           state, reason, lease_number as "leaseNumber", runs.agent_id as "agentId",
           count(results.id) as finals, max(results.started) as "startedAt",
           max(results.response_time) as "responseTimeMs"
         from runs left join results on results.run_id = runs.id and results.result_type = 'FINAL'
         group by runs.id`,
      )
      .all() as unknown as LedgerRun[];
  } finally {
    database.close();
  }
}

/** Number of late results that were fenced. */
export function countStale(dataDir: string): number {
  const database = new DatabaseSync(join(dataDir, 'picket.sqlite'), { readOnly: true });
  try {
    return (database.prepare('select count(*) as n from stale_results').get() as { n: number }).n;
  } finally {
    database.close();
  }
}

import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import { isNowOneOf, unfinishedRuns } from '../runs/store.ts';
import type { LiveLogRow } from './tables.ts';

const leased = sql.lit('leased' as const);
/** Runs that one turn of the clean-up looks at. */
const runsPerTurn = 500;

/** A lease of a run, as its agent names it. */
export interface NamedLease {
  readonly runId: string;
  readonly leaseNumber: number;
}

/** Lines of running scripts. The rows live no longer than the leases of their runs. */
export class LiveLogs extends Repository {
  /** Keeps lines. After a lost answer an agent sends them again, perhaps together with later ones. */
  async insert(rows: readonly LiveLogRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.db
      .insertInto('live_log_lines')
      .values([...rows])
      .onConflict((conflict) =>
        conflict.columns(['run_id', 'lease_number', 'first_line']).doUpdateSet((eb) => ({
          size_bytes: eb.ref('excluded.size_bytes'),
          is_full: eb.ref('excluded.is_full'),
          lines: eb.ref('excluded.lines'),
        })),
      )
      .execute();
  }

  /** Size of the kept lines by run, in bytes. */
  async sizes(runIds: readonly string[]): Promise<Map<string, number>> {
    if (runIds.length === 0) return new Map();
    const rows = await this.db
      .selectFrom('live_log_lines')
      .select(['run_id', (eb) => eb.fn.sum<number | string>('size_bytes').as('bytes')])
      .where(this.dialect.inList('run_id', runIds))
      .groupBy('run_id')
      .execute();
    return new Map(rows.map(({ run_id: id, bytes }) => [id, Number(bytes)]));
  }

  /** Lines of these leases, in order; for runs of one account only. */
  async ofLeases(accountId: string, leases: readonly NamedLease[]): Promise<LiveLogRow[]> {
    if (leases.length === 0) return [];
    return this.db
      .selectFrom('live_log_lines')
      .selectAll()
      .where(
        this.dialect.inPairs(
          ['run_id', 'lease_number'],
          leases.map(({ runId, leaseNumber }) => [runId, leaseNumber] as const),
        ),
      )
      .where('account_id', '=', accountId)
      .orderBy('run_id')
      .orderBy('first_line')
      .execute();
  }

  /** Ids of the runs among these that an agent of the location holds under these leases. */
  async held(
    holder: { readonly locationId: string; readonly agentId: string; readonly sessionId: string },
    leases: readonly NamedLease[],
  ): Promise<Set<string>> {
    if (leases.length === 0) return new Set();
    const rows = await unfinishedRuns(this.db)
      .select(['id', 'lease_number'])
      .where(
        this.dialect.inList(
          'id',
          leases.map(({ runId }) => runId),
        ),
      )
      .where(isNowOneOf([leased]))
      .where('location_id', '=', holder.locationId)
      .where('agent_id', '=', holder.agentId)
      .where('session_id', '=', holder.sessionId)
      .execute();
    const numbers = new Map(rows.map((row) => [row.id, row.lease_number]));
    return new Set(
      leases.flatMap(({ runId, leaseNumber }) => (numbers.get(runId) === leaseNumber ? [runId] : [])),
    );
  }

  /** Deletes lines of leases that have ended; returns whether any lines are left. */
  async removeEnded(): Promise<boolean> {
    const kept = await this.db
      .selectFrom('live_log_lines')
      .select(['run_id', 'lease_number'])
      .distinct()
      .limit(runsPerTurn)
      .execute();
    if (kept.length === 0) return false;
    const ids = [...new Set(kept.map((row) => row.run_id))];
    const running = await unfinishedRuns(this.db)
      .select(['id', 'lease_number'])
      .where(this.dialect.inList('id', ids))
      .where(isNowOneOf([leased]))
      .execute();
    const numbers = new Map(running.map((row) => [row.id, row.lease_number]));
    const ended = kept.filter((row) => numbers.get(row.run_id) !== row.lease_number);
    if (ended.length > 0) {
      await this.db
        .deleteFrom('live_log_lines')
        .where(
          this.dialect.inPairs(
            ['run_id', 'lease_number'],
            ended.map((row) => [row.run_id, row.lease_number] as const),
          ),
        )
        .execute();
    }
    return ended.length < kept.length || kept.length === runsPerTurn;
  }
}

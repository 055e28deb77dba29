import { Repository } from '@picket/platform/store/engine/repository.ts';
import type { JobRunRow } from './tables.ts';

/** Runs of one job that are followed at a time; if more have started, the oldest are forgotten. */
const maxOpenRuns = 50;

/**
 * Runs of jobs that have started and not ended. Pings lock the timer of their check first, so that at most one
 * transaction changes the runs of a check.
 */
export class JobRuns extends Repository {
  /** Runs that have not ended, oldest first. */
  async open(checkId: string): Promise<JobRunRow[]> {
    return this.db
      .selectFrom('job_runs')
      .selectAll()
      .where('check_id', '=', checkId)
      .orderBy('started_at')
      .orderBy('run_id')
      .execute();
  }

  /**
   * Records the start of a run. A start with the id of another run, or one of two without id, replaces it.
   *
   * @returns how many other runs are in progress, the replaced one included.
   */
  async start(run: JobRunRow): Promise<number> {
    const open = await this.open(run.check_id);
    const forgotten = open.slice(0, Math.max(0, open.length + 1 - maxOpenRuns)).map((one) => one.run_id);
    await this.#delete(run.check_id, [run.run_id, ...forgotten]);
    await this.db.insertInto('job_runs').values(run).execute();
    return open.length;
  }

  /** Ends a run: returns it if its start is known. */
  async end(checkId: string, runId: string): Promise<JobRunRow | undefined> {
    const run = await this.db
      .selectFrom('job_runs')
      .selectAll()
      .where('check_id', '=', checkId)
      .where('run_id', '=', runId)
      .executeTakeFirst();
    if (run) await this.#delete(checkId, [runId]);
    return run;
  }

  /** Forgets all runs of a check. */
  async forget(checkId: string): Promise<void> {
    await this.db.deleteFrom('job_runs').where('check_id', '=', checkId).execute();
  }

  /** Gives the runs of a check another time limit; null: none. */
  async limit(checkId: string, longestRunMs: number | null): Promise<void> {
    await this.db
      .updateTable('job_runs')
      .set((eb) => ({ deadline_at: longestRunMs === null ? null : eb('started_at', '+', longestRunMs) }))
      .where('check_id', '=', checkId)
      .execute();
  }

  /** Runs whose time limit is over, longest overdue first. */
  async overdue(now: number, limit: number): Promise<JobRunRow[]> {
    return this.db
      .selectFrom('job_runs')
      .selectAll()
      .where('deadline_at', '<', now)
      .orderBy('deadline_at')
      .limit(limit)
      .execute();
  }

  /** Removes the time limit of a run, which stays known until it ends; false if the run has ended meanwhile. */
  async unlimit({ check_id: checkId, run_id: runId, started_at: startedAt }: JobRunRow): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('job_runs')
      .set({ deadline_at: null })
      .where('check_id', '=', checkId)
      .where('run_id', '=', runId)
      .where('started_at', '=', startedAt)
      .where('deadline_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** Removes the time limit of all runs that had started before an instant. */
  async unlimitBefore(startedBefore: number): Promise<void> {
    await this.db
      .updateTable('job_runs')
      .set({ deadline_at: null })
      .where('started_at', '<', startedBefore)
      .where('deadline_at', 'is not', null)
      .execute();
  }

  /** When the next time limit is over, or null. */
  async nextDeadline(): Promise<number | null> {
    const row = await this.db
      .selectFrom('job_runs')
      .select((eb) => eb.fn.min('deadline_at').as('at'))
      .where('deadline_at', 'is not', null)
      .executeTakeFirst();
    return row?.at ?? null;
  }

  async #delete(checkId: string, runIds: readonly string[]): Promise<void> {
    await this.db
      .deleteFrom('job_runs')
      .where('check_id', '=', checkId)
      .where('run_id', 'in', runIds)
      .execute();
  }
}

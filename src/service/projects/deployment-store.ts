import type { Page } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { sql } from 'kysely';
import type { DeploymentRow } from './tables.ts';

/** A deployment without its request, which may be megabytes. */
export type DeploymentState = Omit<DeploymentRow, 'request'>;

const stateColumns = [
  'id',
  'account_id',
  'project_logical_id',
  'status',
  'caller',
  'progress',
  'error_code',
  'error_message',
  'result',
  'worker',
  'worker_until',
  'created',
  'started',
  'ended',
  'cancel_requested',
] as const;

/** Number of deployments kept per project. */
const kept = 50;

/** Deployments: their requests, current workers, and outcomes. */
export class Deployments extends Repository {
  /** Fails with a unique violation while another deployment of the project is in progress. */
  async insert(row: DeploymentRow): Promise<void> {
    await this.db.insertInto('deployments').values(row).execute();
  }

  async find(accountId: string, id: string): Promise<DeploymentState | undefined> {
    return this.db
      .selectFrom('deployments')
      .select(stateColumns)
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The deployment of a project that has not ended. */
  async live(accountId: string, projectLogicalId: string): Promise<DeploymentState | undefined> {
    return this.db
      .selectFrom('deployments')
      .select(stateColumns)
      .where('account_id', '=', accountId)
      .where('project_logical_id', '=', projectLogicalId)
      .where('status', 'in', ['PENDING', 'RUNNING'])
      .executeTakeFirst();
  }

  /** Number of pending and running deployments, of one account or of all. */
  async countLive(accountId?: string): Promise<{ account: string; status: string; count: number }[]> {
    let query = this.db
      .selectFrom('deployments')
      .select((eb) => ['account_id as account', 'status', eb.fn.countAll<number>().as('count')])
      .where('status', 'in', ['PENDING', 'RUNNING']);
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const rows = await query.groupBy(['account_id', 'status']).execute();
    return rows.map((row) => ({ ...row, count: Number(row.count) }));
  }

  /** Latest deployments of an account, of one project or of all, newest first. */
  async last(
    accountId: string,
    limit: number,
    projectLogicalId?: string,
  ): Promise<Omit<DeploymentState, 'result'>[]> {
    const query = this.#newest(accountId).limit(limit);
    return (
      projectLogicalId === undefined ? query : query.where('project_logical_id', '=', projectLogicalId)
    ).execute();
  }

  /** Deployments of a project, newest first; in a period: those that had begun before its end and not ended before it. */
  async ofProject(
    accountId: string,
    projectLogicalId: string,
    {
      from,
      to,
      page,
    }: { readonly from?: number | undefined; readonly to?: number | undefined; readonly page: Page },
  ): Promise<Omit<DeploymentState, 'result'>[]> {
    let query = this.#newest(accountId)
      .where('project_logical_id', '=', projectLogicalId)
      .limit(page.limit)
      .offset(page.offset);
    if (from !== undefined) {
      query = query.where((eb) => eb.or([eb('ended', 'is', null), eb('ended', '>=', from)]));
    }
    if (to !== undefined) query = query.where('created', '<', to);
    return query.execute();
  }

  /** Without their results, which may be megabytes. */
  #newest(accountId: string) {
    return this.db
      .selectFrom('deployments')
      .select(stateColumns.filter((name) => name !== 'result'))
      .where('account_id', '=', accountId)
      .orderBy('created', 'desc')
      .orderBy('id');
  }

  /** Latest deployment of each project of an account, by the logical id of the project. */
  async lastOfEach(accountId: string): Promise<Map<string, Omit<DeploymentState, 'result'>>> {
    const rows = await this.db
      .selectFrom('deployments')
      .select(stateColumns.filter((name) => name !== 'result'))
      .where('account_id', '=', accountId)
      .where(
        sql<boolean>`created = (select max(other.created) from deployments other
          where other.account_id = deployments.account_id
            and other.project_logical_id = deployments.project_logical_id)`,
      )
      .execute();
    return new Map(rows.map((row) => [row.project_logical_id, row]));
  }

  /**
   * Claims the oldest available deployment, except those of accounts that are left out; returns it with its request.
   */
  async claim(
    worker: string,
    now: number,
    untilMs: number,
    leftOut: readonly string[] = [],
  ): Promise<DeploymentRow | undefined> {
    const row = await this.#free(now, leftOut)
      .selectAll()
      .orderBy('created')
      .limit(1)
      .modifyEnd(this.dialect.forUpdateSkipLocked)
      .executeTakeFirst();
    if (!row) return undefined;
    const taken = { status: 'RUNNING', worker, worker_until: untilMs, started: row.started ?? now };
    await this.db.updateTable('deployments').set(taken).where('id', '=', row.id).execute();
    return { ...row, ...taken };
  }

  /** Whether a deployment can be taken. Asked first, so that an idle service opens no transactions. */
  async areFree(now: number): Promise<boolean> {
    return (await this.#free(now, []).select('id').limit(1).executeTakeFirst()) !== undefined;
  }

  /** Deployments that are pending, or whose process is gone. */
  #free(now: number, leftOut: readonly string[]) {
    return this.db
      .selectFrom('deployments')
      .where((eb) => eb.not(this.dialect.inList('account_id', leftOut)))
      .where((eb) =>
        eb.or([
          eb('status', '=', 'PENDING'),
          eb.and([eb('status', '=', 'RUNNING'), eb('worker_until', '<', now)]),
        ]),
      );
  }

  /** When the next claim of a running deployment expires, so that it can be taken over; null if none is running. */
  async nextTakeoverAt(): Promise<number | null> {
    const row = await this.db
      .selectFrom('deployments')
      .select((eb) => eb.fn.min('worker_until').as('at'))
      .where('status', '=', 'RUNNING')
      .executeTakeFirst();
    return row?.at ?? null;
  }

  /**
   * Renews the claim of a worker.
   *
   * @returns whether it may continue: false if the deployment was cancelled, or another worker has it.
   */
  async renew(id: string, worker: string, untilMs: number, progress: number): Promise<boolean> {
    const row = await this.db
      .updateTable('deployments')
      .set({ worker_until: untilMs, progress })
      .where('id', '=', id)
      .where('worker', '=', worker)
      .where('status', '=', 'RUNNING')
      .where('cancel_requested', 'is', null)
      .returning('id')
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Ends a deployment that a worker holds; returns false and changes nothing if the worker no longer holds it. */
  async end(
    id: string,
    worker: string,
    outcome: Pick<DeploymentRow, 'status' | 'ended'> &
      Partial<Pick<DeploymentRow, 'error_code' | 'error_message' | 'result'>>,
  ): Promise<boolean> {
    const row = await this.db
      .updateTable('deployments')
      .set({
        ...outcome,
        ...(outcome.status === 'SUCCEEDED' ? { progress: 100 } : {}),
        request: null,
        worker: null,
        worker_until: null,
      })
      .where('id', '=', id)
      .where('worker', '=', worker)
      .where('status', '=', 'RUNNING')
      .returning('id')
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Requests cancellation of a deployment; a pending one ends at once. */
  async cancel(accountId: string, id: string, now: number): Promise<void> {
    const live = this.db.updateTable('deployments').where('account_id', '=', accountId).where('id', '=', id);
    await live
      .set({ status: 'CANCELLED', cancel_requested: now, ended: now, request: null })
      .where('status', '=', 'PENDING')
      .execute();
    await live
      .set({ cancel_requested: now })
      .where('status', '=', 'RUNNING')
      .where('cancel_requested', 'is', null)
      .execute();
  }

  /** Deletes the oldest deployments of a project. */
  async forgetOld(accountId: string, projectLogicalId: string): Promise<void> {
    const newest = this.db
      .selectFrom('deployments')
      .select('id')
      .where('account_id', '=', accountId)
      .where('project_logical_id', '=', projectLogicalId)
      .orderBy('created', 'desc')
      .limit(kept);
    await this.db
      .deleteFrom('deployments')
      .where('account_id', '=', accountId)
      .where('project_logical_id', '=', projectLogicalId)
      .where('id', 'not in', newest)
      .where('ended', 'is not', null)
      .execute();
  }
}

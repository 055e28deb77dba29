import { randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError, isStoreFailure, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { askedBy } from '@picket/lib/turns/asker.ts';
import { requestOfJob } from '@picket/platform/feature/exchange.ts';
import type { HandlersOn } from '@picket/platform/feature/parts.ts';
import type { AccountCaller } from '@picket/platform/ids/callers.ts';
import { Operations } from '@picket/platform/operations/operations.ts';
import { storeWithin } from '@picket/platform/operations/within-transaction.ts';
import type { Signal } from '@picket/platform/store/engine/signals.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { storedJson, storedValue } from '@picket/platform/store/stored-json.ts';
import { DeploymentInput, type DeploymentResult } from '@picket/protocol/projects/project.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { z } from 'zod';
import { applyProject, type Deployer, type DeploymentRequest } from './applying.ts';
import type { DeploymentRow } from './tables.ts';
import { projectOf } from './views.ts';

interface DeployingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handlersOn: HandlersOn;
  /** Progress of this process's deployments in percent, by id. */
  readonly progress: Map<string, number>;
  readonly metrics: DeploymentCounter;
}

/** Counts deployments by outcome. */
export interface DeploymentCounter {
  countDeployment(accountId: string, outcome: 'succeeded' | 'failed' | 'cancelled'): void;
}

const storedRequest = storedJson(
  'deployments.request',
  lazySchema(() =>
    z.object({
      input: DeploymentInput.schema.optional(),
      preserve: z.boolean().optional(),
      schedule: z.boolean().optional(),
    }),
  ),
);
const storedCaller = storedValue<{ readonly caller?: AccountCaller; readonly address?: string }>(
  'deployments.caller',
  {},
);

/** How long a process may go without renewing its claim before another restarts the deployment. */
const leaseMs = 15_000;
const renewMs = 1_000;
/** Limit of deployments in progress per process, each of a different account. */
const mostAtOnce = 4;
/** Share of the PostgreSQL connections that they may use: each holds one until it ends. */
const partOfConnections = 0.4;
/** Longer than any deployment takes: otherwise one that kills its process each time would be retried forever. */
const oldestMs = 3_600_000;

class Cancelled extends Error {}

/**
 * Carries out deployments. A deployment is PENDING until a process takes it, and RUNNING while that process renews its
 * claim every second. All of its changes form one transaction, which ends by marking it as SUCCEEDED, provided that the
 * process still holds the claim: a process that dies or loses its claim leaves nothing behind, and another one restarts
 * the deployment once the claim has expired. A rejected deployment ends as FAILED. Cancellation is checked between two
 * resources: the transaction is rolled back, and the deployment ends as CANCELLED. On SQLite the transaction pauses
 * between resources, so that other accounts do not wait for it. Each account has at most one in progress per process,
 * so that a small one does not wait for a large one of another account.
 */
export class Deploying {
  readonly #deps: DeployingDeps;
  readonly #worker = randomUUID();
  /** By account. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #served = new Set<string>();
  #failure: Error | undefined;

  constructor(deps: DeployingDeps) {
    this.#deps = deps;
  }

  /** Starts pending deployments, one per account at a time, without waiting for them. */
  async turn(wake: () => void): Promise<number | null> {
    const { store } = this.#deps;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure;
    while (this.#underWay.size < this.#mostAtOnce()) {
      const row = await this.#claimNext();
      if (!row) return store.deployments.nextTakeoverAt();
      const work = askedBy({ key: row.account_id }, () => this.#work(row))
        .catch((thrown: unknown) => {
          this.#failure = toError(thrown);
        })
        .finally(() => {
          this.#underWay.delete(row.account_id);
          wake();
        });
      this.#underWay.set(row.account_id, work);
    }
    return null;
  }

  #mostAtOnce(): number {
    const { engine, turns } = this.#deps.store;
    if (engine === 'sqlite' || !turns) return mostAtOnce;
    return Math.min(mostAtOnce, Math.max(1, Math.floor(turns.figures().atOnce * partOfConnections)));
  }

  /** Resolves when no deployment is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /** Accounts that have already had a turn come after accounts that still wait for theirs. */
  async #claimNext(): Promise<DeploymentRow | undefined> {
    const { store, clock } = this.#deps;
    const now = clock.wallMs();
    if (!(await store.deployments.areFree(now))) return undefined;
    const take = (leftOut: Iterable<string>) =>
      store.transaction(({ deployments }) =>
        deployments.claim(this.#worker, now, now + leaseMs, [...leftOut]),
      );
    let row = await take(new Set([...this.#underWay.keys(), ...this.#served]));
    if (!row && this.#served.size > 0) {
      this.#served.clear();
      row = await take(this.#underWay.keys());
    }
    if (row) this.#served.add(row.account_id);
    return row;
  }

  async #work(row: DeploymentRow): Promise<void> {
    const { store, clock, logger, progress, metrics } = this.#deps;
    const about = { deploymentId: row.id, project: row.project_logical_id };
    const end = async (outcome: Parameters<typeof store.deployments.end>[2]) => {
      if (!(await store.deployments.end(row.id, this.#worker, outcome))) return;
      metrics.countDeployment(row.account_id, outcome.status === 'FAILED' ? 'failed' : 'cancelled');
    };
    if (row.cancel_requested !== null) {
      await end({ status: 'CANCELLED', ended: clock.wallMs() });
      return;
    }
    if (clock.wallMs() - row.created > oldestMs) {
      const message = 'It was restarted repeatedly for an hour and did not finish.';
      await end({ status: 'FAILED', ended: clock.wallMs(), error_code: 'INTERNAL', error_message: message });
      return;
    }
    progress.set(row.id, 0);
    const claim = this.#keepClaim(row.id);
    try {
      const { signals, created } = await this.#apply(row, claim.lost);
      store.signals.send([{ kind: 'schedule' }, ...signals]);
      metrics.countDeployment(row.account_id, 'succeeded');
      logger.info(about, 'deployed a project');
      await this.#runOnce(row, created);
    } catch (thrown) {
      if (thrown instanceof Cancelled) {
        await end({ status: 'CANCELLED', ended: clock.wallMs() });
        return;
      }
      const error = toError(thrown);
      // It is restarted when the database is back.
      if (isStoreFailure(error)) throw error;
      const code = error instanceof AppError ? error.code : 'INTERNAL';
      if (code === 'INTERNAL') logger.error({ ...about, err: error }, 'a deployment failed');
      const message =
        code === 'INTERNAL'
          ? 'Internal error; the log of the service has the details.'
          : error.message.slice(0, 10_000);
      await end({ status: 'FAILED', ended: clock.wallMs(), error_code: code, error_message: message });
    } finally {
      claim.stop();
      progress.delete(row.id);
    }
  }

  /** Renews the claim on a deployment; `lost` aborts when it is cancelled or taken over by another process. */
  #keepClaim(id: string): { readonly lost: AbortSignal; stop(): void } {
    const { store, clock, logger, progress } = this.#deps;
    const lost = new AbortController();
    let isRenewing = false;
    const renew = async () => {
      if (isRenewing) return;
      isRenewing = true;
      try {
        const until = clock.wallMs() + leaseMs;
        if (!(await store.deployments.renew(id, this.#worker, until, progress.get(id) ?? 0))) lost.abort();
      } catch (thrown) {
        logger.debug({ err: thrown, deploymentId: id }, 'failed to renew the claim on a deployment');
      } finally {
        isRenewing = false;
      }
    };
    const timer = setInterval(() => void renew(), renewMs);
    return { lost: lost.signal, stop: () => clearInterval(timer) };
  }

  async #apply(
    row: DeploymentRow,
    lost: AbortSignal,
  ): Promise<{ signals: Signal[]; created: readonly string[] }> {
    const { store, clock, progress } = this.#deps;
    const request = requestOf(row);
    const startedAt = clock.wallMs();
    const work = async (repositories: Repositories, pause: () => Promise<void>) => {
      const onProgress = async (done: number) => {
        progress.set(row.id, Math.floor(done * 99));
        await pause();
        if (lost.aborted) throw new Cancelled();
      };
      const now = clock.wallMs();
      const within = storeWithin(store, repositories);
      const operations = new Operations({
        ...deployerOf(row),
        handlers: this.#deps.handlersOn(within.store),
      });
      const { project, done } = await applyProject({
        repositories,
        operations,
        accountId: row.account_id,
        logicalId: row.project_logical_id,
        request,
        now,
        onProgress,
      });
      const result: DeploymentResult = { project: projectOf(project), diff: [...done.changes] };
      const outcome = { status: 'SUCCEEDED', ended: clock.wallMs(), result: JSON.stringify(result) };
      if (!(await repositories.deployments.end(row.id, this.#worker, outcome))) throw new Cancelled();
      return { signals: within.signals, created: request.schedule ? done.createdCheckIds : [] };
    };
    return store.longTransaction(work, ({ audit }) => audit.countSince(row.account_id, startedAt));
  }

  /** New checks run once immediately, so that the first result of a daily check does not take a day. */
  async #runOnce(row: DeploymentRow, checkIds: readonly string[]): Promise<void> {
    const { store, logger, handlersOn } = this.#deps;
    if (checkIds.length === 0) return;
    try {
      const operations = new Operations({ ...deployerOf(row), handlers: handlersOn(store) });
      for (let start = 0; start < checkIds.length; start += 1000) {
        const checkId = checkIds.slice(start, start + 1000);
        await operations.call(checkSessionRoutes.triggerCheckSessions, { body: { target: { checkId } } });
      }
    } catch (thrown) {
      // They run on their schedule in any case.
      logger.info(
        { deploymentId: row.id, reason: toError(thrown).message },
        'new checks do not run immediately',
      );
    }
  }
}

function deployerOf({ caller }: DeploymentRow): Deployer {
  const { caller: by, address } = storedCaller(caller);
  if (by === undefined) throw unreadable();
  return { caller: by, request: requestOfJob(address ?? '') };
}

/** An empty request would delete the project, so an unreadable one must be rejected. */
function requestOf({ request }: Pick<DeploymentRow, 'request'>): DeploymentRequest {
  const { input, preserve, schedule = true } = storedRequest(request ?? '');
  if (preserve === undefined) throw unreadable();
  return { ...(input === undefined ? {} : { input }), preserve, schedule };
}

function unreadable(): AppError {
  return new AppError('CONFLICT', 'The stored request of this deployment cannot be read. Deploy again.');
}

import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { AppError } from '@picket/lib/errors.ts';
import {
  type AnyHandler,
  type Call,
  type HandlerDeps,
  handlersById,
  iso,
} from '@picket/platform/feature/handler.ts';
import type { HandlersOn } from '@picket/platform/feature/parts.ts';
import { found } from '@picket/platform/http/known-names.ts';
import { pageOffset } from '@picket/platform/http/paging.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { Operations } from '@picket/platform/operations/operations.ts';
import { isUniqueViolation } from '@picket/platform/store/engine/dialect.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { instantOf } from '@picket/protocol/http/query.ts';
import type { Change } from '@picket/protocol/projects/project.ts';
import { DeploymentResult, projectRoutes } from '@picket/protocol/projects/project.ts';
import { z } from 'zod';
import type { Ledger } from '../runs/ledger.ts';
import { waitUntilDone } from '../sessions/completion.ts';
import { applyResources } from './apply-resources.ts';
import { type Deployer, type DeploymentRequest, rehearse } from './applying.ts';
import type { DeploymentState } from './deployment-store.ts';
import { parseDesiredState } from './desired-state.ts';
import { sendEvents } from './events.ts';
import type { DeploymentRow, ProjectRow } from './tables.ts';
import { deploymentSummary, deploymentView, projectOf, projectView } from './views.ts';

export interface ProjectDeps extends HandlerDeps {
  readonly ledger: Pick<Ledger, 'draining'>;
  readonly handlersOn: HandlersOn;
  /** Progress of this process's deployments in percent, by id. */
  readonly progress: ReadonlyMap<string, number>;
}

type Placed = { readonly logicalId: string; readonly deploymentId: string };

/** How long payloads are validated before other requests get a turn. */
const judgedMs = 10;

function lettingOthersIn(): () => Promise<void> {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs < judgedMs) return;
    await yieldToOthers();
    sinceMs = performance.now();
  };
}

/** Routes of projects and their deployments. */
export function projectHandlers(deps: ProjectDeps): [string, AnyHandler][] {
  const { store, clock, logger, handlersOn, progress } = deps;

  /** Determines the changes of a deployment; rejects all errors at once that can be detected without writing. */
  const preview = async (
    deployer: Deployer,
    given: { logicalId: string; input: DeploymentRequest['input']; preserve: boolean },
  ): Promise<{ stored: ProjectRow | undefined; diff: Change[] }> => {
    const { accountId } = deployer.caller;
    const { input } = given;
    const desired = parseDesiredState(input ?? { resources: [], sharedFiles: [] });
    const stored = await store.projects.find(accountId, given.logicalId);
    const rows = stored ? await store.projects.resources(stored.id) : [];
    const operations = new Operations({ ...deployer, handlers: handlersOn(store) });
    const work = { repositories: store, operations, accountId, desired, rows, preserve: given.preserve };
    const { changes } = await applyResources({ ...work, isDry: true, onProgress: lettingOthersIn() });
    return { stored, diff: [...changes] };
  };

  /** Same for a dry run: also rejects what the deployment itself would reject. */
  const dryRun = async (
    deployer: Deployer,
    given: { logicalId: string; input: DeploymentRequest['input']; preserve: boolean },
  ) => {
    const seen = await preview(deployer, given);
    const { logicalId, input, preserve } = given;
    const request = { ...(input === undefined ? {} : { input }), preserve, schedule: false };
    if (seen.diff.length > 0 && (input || seen.stored))
      await rehearse(deps, deployer, { logicalId, request });
    return seen;
  };

  const begin = async (deployer: Deployer, logicalId: string, request: DeploymentRequest) => {
    const { accountId } = deployer.caller;
    const row: DeploymentRow = {
      id: randomUUID(),
      account_id: accountId,
      project_logical_id: logicalId,
      status: 'PENDING',
      request: JSON.stringify(request),
      caller: JSON.stringify({ caller: deployer.caller, address: deployer.request.ip }),
      progress: 0,
      created: clock.wallMs(),
      ...{ error_code: null, error_message: null, result: null, worker: null, worker_until: null },
      ...{ started: null, ended: null, cancel_requested: null },
    };
    try {
      await store.deployments.insert(row);
    } catch (thrown) {
      if (!isUniqueViolation(thrown)) throw thrown;
      await refuseBusy(deps, accountId, logicalId);
      throw thrown;
    }
    await store.deployments.forgetOld(accountId, logicalId);
    store.signals.send([{ kind: 'deployments' }]);
    return deploymentView(row);
  };

  const stateOf = async (
    accountId: string,
    { logicalId, deploymentId }: Placed,
  ): Promise<DeploymentState> => {
    const row = await store.deployments.find(accountId, deploymentId);
    const isOfProject = row?.project_logical_id === logicalId;
    return found(isOfProject ? row : undefined, `deployment ${deploymentId} of the project "${logicalId}"`);
  };
  const viewOf = (row: DeploymentState) => deploymentView(row, progress.get(row.id));
  const stopOf = ({ request }: Pick<Call, 'request'>) =>
    AbortSignal.any([deps.ledger.draining, request.signal]);

  return handlersById(projectRoutes, {
    async deployProject({ caller, query, body, request, reply }) {
      const deployer = { caller, request };
      const { logicalId } = body.project;
      const { preserveResources: preserve, scheduleOnDeploy: schedule } = query;
      const given = { logicalId, input: body, preserve };
      if (!query.dryRun) {
        await refuseBusy(deps, caller.accountId, logicalId);
        await preview(deployer, given);
        return begin(deployer, logicalId, { input: body, preserve, schedule });
      }
      const { stored, diff } = await dryRun(deployer, given);
      const { name, repoUrl = null } = body.project;
      const project = stored
        ? { ...projectOf(stored), name, repoUrl }
        : { id: randomUUID(), logicalId, name, repoUrl, createdAt: iso(clock.wallMs()), updatedAt: null };
      const answer = { project, diff };
      await reply.code(200).send(z.encode(DeploymentResult.schema, answer));
      return answer;
    },
    async listDeployments({ caller: { accountId }, params: { logicalId }, query }) {
      found(await store.projects.find(accountId, logicalId), `project "${logicalId}"`);
      const [from, to] = [instantOf(query.from), instantOf(query.to)];
      if (from !== undefined && to !== undefined && to < from) {
        throw fieldError('query', [{ key: 'to', message: 'must not be before "from"' }]);
      }
      const rows = await store.deployments.ofProject(accountId, logicalId, {
        ...{ from, to },
        page: { limit: query.limit, offset: pageOffset(query) },
      });
      return rows.map((row) => deploymentSummary(row, progress.get(row.id)));
    },
    async getDeployment({ caller, params }) {
      return viewOf(await stateOf(caller.accountId, params));
    },
    async followDeployment({ caller, params, request, reply }) {
      const look = async () => viewOf(await stateOf(caller.accountId, params));
      await sendEvents(reply, {
        ...{ look, clock, logger, stop: stopOf({ request }) },
        progress: () => progress.get(params.deploymentId),
      });
      return '';
    },
    async awaitDeployment({ caller, params, query, request }) {
      return waitUntilDone(
        async () => {
          const row = await stateOf(caller.accountId, params);
          return { isDone: row.ended !== null, value: viewOf(row) };
        },
        { clock, maxWaitMs: query.maxWaitSeconds * 1000, stop: stopOf({ request }), what: 'deployment' },
      );
    },
    async cancelDeployment({ caller, params }) {
      await stateOf(caller.accountId, params);
      await store.deployments.cancel(caller.accountId, params.deploymentId, clock.wallMs());
      store.signals.send([{ kind: 'deployments' }]);
      return viewOf(await stateOf(caller.accountId, params));
    },
    async deleteProject({ caller, params, query, request, reply }) {
      const deployer = { caller, request };
      const { logicalId } = params;
      const { preserveResources: preserve } = query;
      const stored = await store.projects.find(caller.accountId, logicalId);
      if (stored && !query.dryRun) {
        await refuseBusy(deps, caller.accountId, logicalId);
        return begin(deployer, logicalId, { preserve, schedule: false });
      }
      const { diff } = await dryRun(deployer, { logicalId, input: undefined, preserve });
      await reply.code(200).send({ diff });
      return { diff };
    },
    async listProjects({ caller: { accountId } }) {
      const counts = await store.projects.resourceCounts(accountId);
      const last = await store.deployments.lastOfEach(accountId);
      const rows = await store.projects.list(accountId);
      return rows.map((row) => projectView(row, counts.get(row.id) ?? 0, last.get(row.logical_id)));
    },
    async createProject({ caller: { accountId }, body }) {
      const row: ProjectRow = {
        id: randomUUID(),
        account_id: accountId,
        logical_id: body.logicalId,
        name: body.name,
        repo_url: body.repoUrl ?? null,
        created: clock.wallMs(),
        updated: null,
      };
      try {
        await store.projects.insert(row);
      } catch (thrown) {
        if (!isUniqueViolation(thrown)) throw thrown;
        throw new AppError('CONFLICT', `There is a project "${body.logicalId}" already.`);
      }
      return projectView(row, 0, undefined);
    },
    async getProject({ caller: { accountId }, params: { logicalId } }) {
      const row = found(await store.projects.find(accountId, logicalId), `project "${logicalId}"`);
      const [last] = await store.deployments.last(accountId, 1, logicalId);
      const counts = await store.projects.resourceCounts(accountId);
      return projectView(row, counts.get(row.id) ?? 0, last);
    },
  });
}

/** @throws AppError CONFLICT, naming it, while a deployment of the project is in progress. */
export async function refuseBusy(
  { store }: { readonly store: Pick<Repositories, 'deployments'> },
  accountId: string,
  logicalId: string,
): Promise<void> {
  const live = await store.deployments.live(accountId, logicalId);
  if (!live) return;
  throw new AppError(
    'CONFLICT',
    `The deployment ${live.id} of the project "${logicalId}" has not finished yet.`,
    {
      attributes: { deploymentId: live.id },
    },
  );
}

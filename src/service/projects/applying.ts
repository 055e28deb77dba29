import { randomUUID } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { HandlersOn } from '@picket/platform/feature/parts.ts';
import { Operations, type OperationsOptions } from '@picket/platform/operations/operations.ts';
import { storeWithin } from '@picket/platform/operations/within-transaction.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { DeploymentInput } from '@picket/protocol/projects/project.ts';
import { type AppliedResources, applyResources } from './apply-resources.ts';
import { parseDesiredState } from './desired-state.ts';
import type { ProjectRow } from './tables.ts';

/** The task of a deployment, stored until it is done. */
export interface DeploymentRequest {
  /** Absent: the project is deleted together with its resources. */
  readonly input?: DeploymentInput;
  readonly preserve: boolean;
  /** Whether new checks run at once. */
  readonly schedule: boolean;
}

/** The user who deploys, and the request. */
export type Deployer = Pick<OperationsOptions, 'caller' | 'request'>;

/** Deploys or deletes a project, within a transaction. */
export async function applyProject(work: {
  readonly repositories: Repositories;
  readonly operations: Operations;
  readonly accountId: string;
  readonly logicalId: string;
  readonly request: DeploymentRequest;
  readonly now: number;
  readonly onProgress: (done: number) => Promise<void>;
}): Promise<{ project: ProjectRow; done: AppliedResources }> {
  const { repositories, operations, accountId, logicalId, request, now, onProgress } = work;
  const { projects } = repositories;
  const { input, preserve } = request;
  const stored = await projects.find(accountId, logicalId);
  const rows = stored ? await projects.resources(stored.id) : [];
  const given = { repositories, operations, accountId, rows, preserve, isDry: false, onProgress };
  if (!input) {
    if (!stored) throw new AppError('NOT_FOUND', `There is no project "${logicalId}".`);
    const nothing = parseDesiredState({ sharedFiles: [], resources: [] });
    const done = await applyResources({ ...given, desired: nothing });
    await projects.delete(stored.id);
    return { project: stored, done };
  }
  const { name, repoUrl = null } = input.project;
  const project: ProjectRow = stored
    ? { ...stored, name, repo_url: repoUrl, updated: now }
    : {
        id: randomUUID(),
        account_id: accountId,
        logical_id: logicalId,
        name,
        repo_url: repoUrl,
        created: now,
        updated: null,
      };
  if (stored) await projects.update(project.id, { name, repo_url: repoUrl, updated: now });
  else await projects.insert(project);
  const done = await applyResources({ ...given, desired: parseDesiredState(input) });
  await projects.replaceResources(project.id, done.rows);
  return { project, done };
}

class RolledBack extends Error {}

/**
 * Carries out a deployment and rolls it back, so that its operations can reject conflicts with referenced or existing
 * resources. The changes are never visible to others.
 *
 * @throws AppError with the error that the deployment would end with.
 */
export async function rehearse(
  {
    store,
    clock,
    handlersOn,
  }: { readonly store: Store; readonly clock: Clock; readonly handlersOn: HandlersOn },
  deployer: Deployer,
  asked: { readonly logicalId: string; readonly request: DeploymentRequest },
): Promise<void> {
  const { accountId } = deployer.caller;
  const startedAt = clock.wallMs();
  const work = async (repositories: Repositories, pause: () => Promise<void>): Promise<never> => {
    const operations = new Operations({
      ...deployer,
      handlers: handlersOn(storeWithin(store, repositories).store),
    });
    const now = clock.wallMs();
    await applyProject({ ...asked, repositories, operations, accountId, now, onProgress: pause });
    throw new RolledBack();
  };
  try {
    await store.longTransaction(work, ({ audit }) => audit.countSince(accountId, startedAt));
  } catch (thrown) {
    if (!(thrown instanceof RolledBack)) throw thrown;
  }
}

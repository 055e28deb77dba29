import { iso, optionalIso } from '@picket/platform/feature/handler.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type {
  Deployment,
  DeploymentResult,
  DeploymentSummary,
  Project,
} from '@picket/protocol/projects/project.ts';
import type { DeploymentState } from './deployment-store.ts';
import type { ProjectRow } from './tables.ts';

const resultOf = storedValue<DeploymentResult>('deployments.result', {
  diff: [],
} as unknown as DeploymentResult);

/** A project as results of deployments show it. */
export function projectOf(row: ProjectRow): DeploymentResult['project'] {
  return {
    id: row.id,
    logicalId: row.logical_id,
    name: row.name,
    repoUrl: row.repo_url,
    createdAt: iso(row.created),
    updatedAt: optionalIso(row.updated),
  };
}

/** A deployment; `progress` if this process knows it more precisely than the store. */
export function deploymentView(row: DeploymentState, progress?: number): Deployment {
  return {
    ...deploymentSummary(row, progress),
    result: row.result === null ? null : resultOf(row.result),
  };
}

/** The same without its changes. */
export function deploymentSummary(
  row: Omit<DeploymentState, 'result'>,
  progress?: number,
): DeploymentSummary {
  return {
    id: row.id,
    logicalId: row.project_logical_id,
    status: row.status as Deployment['status'],
    dryRun: false,
    progress: row.ended === null ? Math.max(progress ?? 0, row.progress) : row.progress,
    error:
      row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? row.error_code },
    createdAt: iso(row.created),
    startedAt: optionalIso(row.started),
    endedAt: optionalIso(row.ended),
    cancelRequestedAt: optionalIso(row.cancel_requested),
  };
}

/** A project with its latest deployment. */
export function projectView(
  row: ProjectRow,
  resourceCount: number,
  last: Omit<DeploymentState, 'result'> | undefined,
): Project {
  return {
    id: row.id,
    logicalId: row.logical_id,
    name: row.name,
    repoUrl: row.repo_url,
    created_at: iso(row.created),
    updated_at: optionalIso(row.updated),
    resourceCount,
    lastDeployment: last ? deploymentSummary(last) : null,
  };
}

import { createInterface } from 'node:readline/promises';
import { setTimeout } from 'node:timers/promises';
import { Deployment, projectRoutes } from '@picket/protocol/projects/project.ts';
import { ApiError } from '../api/api-error.ts';
import type { ApiClient } from '../api/client.ts';
import type { Shown } from '../api/command.ts';
import { showProgress } from '../api/show.ts';
import { makePlan, type Plan, type PlanOptions, planLines } from './plan.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Exit code of `picket plan` if a deployment would change something. */
export const changesExitCode = 3;
const pauseMs = 250;

export interface DeployOptions extends PlanOptions {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `picket plan FOLDER` */
export async function planCommand(
  api: ApiClient,
  folder: string,
  options: DeployOptions,
  environment: Environment,
): Promise<Shown> {
  const plan = await makePlan(api, folder, options, environment);
  const { project, changes, warnings } = plan;
  return {
    json: { project: project.logicalId, changes, warnings },
    lines: () => planLines(plan),
    exitCode: changes.length === 0 ? 0 : changesExitCode,
  };
}

/** `picket deploy FOLDER`: all changes or none. */
export async function deployCommand(
  api: ApiClient,
  folder: string,
  options: DeployOptions,
  environment: Environment,
  ask: (question: string) => Promise<boolean> = askOnTerminal,
): Promise<Shown> {
  const plan = await makePlan(api, folder, options, environment);
  const { project, changes, warnings } = plan;
  const deleted = changes.filter(({ action }) => action === 'DELETE' || action === 'REPLACE');
  const before = planLines(plan);
  if (changes.length === 0) {
    return {
      json: { project: project.logicalId, changes, warnings, deployment: null },
      lines: () => before,
    };
  }
  if (deleted.length > 0 && options.yes !== true) {
    for (const line of before) console.error(line);
    const count = deleted.length === 1 ? '1 thing is' : `${deleted.length} things are`;
    if (!(await ask(`${count} deleted with all results. Continue? [y/N] `))) {
      throw new ApiError(
        'Nothing was deployed. --yes deletes without a prompt, --keep keeps resources that are no longer in the files.',
        true,
      );
    }
  }
  const deployment = await runDeployment(api, plan, options.keep === true);
  if (deployment.status !== 'SUCCEEDED') {
    const reason = deployment.error === null ? '' : `: ${deployment.error.message}`;
    throw new ApiError(`Nothing is changed. The deployment has ${deployment.status.toLowerCase()}${reason}`);
  }
  return {
    json: {
      project: project.logicalId,
      changes,
      warnings,
      deployment: { id: deployment.id, status: deployment.status },
    },
    lines: () => [...before, `Deployed: ${deployment.id}`],
  };
}

/** Follows the deployment to its end; Ctrl-C cancels it, and nothing is changed. */
async function runDeployment(api: ApiClient, { body, project }: Plan, keep: boolean): Promise<Deployment> {
  const query = keep ? { preserveResources: 'true' } : {};
  const started = Deployment.safeParse(await api.call(projectRoutes.deployProject, { query, body }));
  if (!started.success) throw new ApiError('The service did not confirm the deployment.');
  const params = { logicalId: project.logicalId, deploymentId: started.data.id };
  const progress = showProgress();
  let isInterrupted = false;
  const onInterrupt = () => {
    isInterrupted = true;
  };
  process.on('SIGINT', onInterrupt);
  try {
    let deployment = started.data;
    let isCancelling = false;
    while (deployment.status === 'PENDING' || deployment.status === 'RUNNING') {
      progress.say(isCancelling ? 'cancelling' : `deploying, ${deployment.progress} %`);
      if (isInterrupted && !isCancelling) {
        isCancelling = true;
        deployment = await api.call(projectRoutes.cancelDeployment, { params });
        continue;
      }
      await setTimeout(pauseMs);
      deployment = await api.call(projectRoutes.getDeployment, { params });
    }
    return deployment;
  } finally {
    process.off('SIGINT', onInterrupt);
    progress.end();
  }
}

async function askOnTerminal(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim());
  } finally {
    lines.close();
  }
}

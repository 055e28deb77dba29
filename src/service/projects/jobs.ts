import { defineJob } from '../jobs/job-loop.ts';
import { Deploying } from './deploying.ts';

export type DeployingDeps = ConstructorParameters<typeof Deploying>[0];

export function deploymentsJob(deps: DeployingDeps) {
  const deploying = new Deploying(deps);
  return defineJob({
    name: 'deployments',
    leaderOnly: false,
    wakesOn: ['deployments'],
    longestMs: 2_000,
    run: (wake) => deploying.turn(wake),
    close: () => deploying.ended(),
  });
}

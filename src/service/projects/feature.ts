import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { projectRoutes } from '@picket/protocol/projects/project.ts';
import { projectImportRoutes } from '@picket/protocol/projects/project-import.ts';
import { Deploying } from './deploying.ts';
import { Deployments } from './deployment-store.ts';
import { projectImportHandlers } from './imports/routes.ts';
import { namingProjects } from './managed-answers.ts';
import { projectHandlers } from './routes.ts';
import { Projects } from './store.ts';

const repositories = { projects: Projects, deployments: Deployments };

export const projects: Feature = {
  name: 'projects',
  repositories,
  parts: { deploymentProgress: () => new Map() },
  routes: [...Object.values(projectRoutes), ...Object.values(projectImportRoutes)],
  handlers: (parts) => [
    ...projectHandlers({ ...parts, progress: parts.deploymentProgress }),
    ...projectImportHandlers(parts),
  ],
  aroundApi: (handlers, { store }) => namingProjects(handlers, store),
  jobs: (parts) => [
    {
      ...{ name: 'deployments', leaderOnly: false, wakesOn: ['deployments'], longestMs: 10_000 },
      work: new Deploying({ ...parts, progress: parts.deploymentProgress }),
    },
  ],
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Progress of this process's deployments in percent, by id. */
    readonly deploymentProgress: Map<string, number>;
  }
}

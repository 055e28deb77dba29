import { defineFeature, type RepositoriesOf } from '../feature/feature.ts';
import { Deployments } from './deployment-store.ts';
import { Projects } from './store.ts';

export const projects = defineFeature({
  name: 'projects',
  repositories: { projects: Projects, deployments: Deployments },
});

declare module '../store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof projects> {}
}

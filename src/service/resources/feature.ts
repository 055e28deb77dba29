import type { Feature } from '@picket/platform/feature/feature.ts';
import { resourceHandlers } from './handlers.ts';
import { resources as registry, resourceMigrations, resourceRoutes } from './index.ts';

type Registry = typeof registry;
const tables = Object.entries(registry).map(([name, { table }]) => [name, table]);

export const resources: Feature = {
  name: 'resources',
  repositories: Object.fromEntries(tables),
  migrations: resourceMigrations,
  routes: resourceRoutes,
  handlers: resourceHandlers,
};

type ResourceRepositories = {
  readonly [Name in keyof Registry]: InstanceType<Registry[Name]['table']>;
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends ResourceRepositories {}
}

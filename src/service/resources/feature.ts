import { defineFeature } from '../feature/feature.ts';
import { resources as registry, resourceMigrations } from './index.ts';

type Registry = typeof registry;
const tables = Object.entries(registry).map(([name, { table }]) => [name, table]);

export const resources = defineFeature({
  name: 'resources',
  repositories: Object.fromEntries(tables),
  migrations: resourceMigrations,
});

type ResourceRepositories = {
  readonly [Name in keyof Registry]: InstanceType<Registry[Name]['table']>;
};

declare module '../store/repositories.ts' {
  interface Repositories extends ResourceRepositories {}
}

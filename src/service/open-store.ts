import { features } from './features.ts';
import { openStoreOf, type StoreOptions } from './store/open-store.ts';
import type { RepositoryClass } from './store/repositories.ts';
import type { Store } from './store/store.ts';

const migrations = features.flatMap((feature) => feature.migrations ?? []);
const repositories: Readonly<Record<string, RepositoryClass>> = Object.assign(
  {},
  ...features.map((feature) => feature.repositories),
);

/** Opens the store with what all features keep in it, and brings its schema up to date. */
export function openStore(options: StoreOptions): Promise<Store> {
  return openStoreOf(options, { migrations, repositories });
}

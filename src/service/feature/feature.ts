import type { RepositoryClass } from '../store/repositories.ts';
import type { Migration } from '../store/schema/migrations.ts';

/** One noun of the service: what it keeps, behind one door. `features.ts` lists them, and nothing else knows them all. */
export interface Feature {
  readonly name: string;
  /** What reads and writes its tables, by the name in the store. */
  readonly repositories?: Readonly<Record<string, RepositoryClass>>;
  /** Its part of the schema, besides the migrations of `store/schema`. */
  readonly migrations?: readonly Migration[];
}

/** The repositories of a feature, which it adds to those of the store: `interface Repositories extends RepositoriesOf<typeof mail> {}`. */
export type RepositoriesOf<Defined extends Feature> = {
  readonly [Name in keyof Defined['repositories']]: Defined['repositories'][Name] extends new (
    ...parts: never[]
  ) => infer Repository
    ? Repository
    : never;
};

/** Says that something is a feature, with the types of what it keeps. */
export function defineFeature<const Defined extends Feature>(feature: Defined): Defined {
  return feature;
}

import type { Kysely } from 'kysely';
import { ResultDays } from './days/result-days.ts';
import { RunDays } from './days/run-days.ts';
import type { Dialect } from './engine/dialect.ts';
import type { Tables } from './tables.ts';

/** Reads and writes tables on one connection, or within one transaction. */
export type RepositoryClass = new (db: Kysely<Tables>, dialect: Dialect) => object;

/** Repositories of the tables of each noun. Each feature adds its own (`declare module`). */
export interface Repositories {
  readonly resultDays: ResultDays;
  readonly runDays: RunDays;
}

/** Returns a function that creates all repositories for a connection or a transaction. */
export function repositoriesOf(
  kept: Readonly<Record<string, RepositoryClass>>,
): (db: Kysely<Tables>, dialect: Dialect) => Repositories {
  const classes = Object.entries({ ...kept, resultDays: ResultDays, runDays: RunDays });
  return (db, dialect) => {
    const made: Record<string, object> = {};
    for (const [name, Repository] of classes) made[name] = new Repository(db, dialect);
    return made as unknown as Repositories;
  };
}

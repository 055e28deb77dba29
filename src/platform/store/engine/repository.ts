import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';
import type { Dialect } from './dialect.ts';

/** Reads and writes rows, within a transaction or outside. */
export abstract class Repository {
  protected readonly db: Kysely<Tables>;
  protected readonly dialect: Dialect;

  constructor(db: Kysely<Tables>, dialect: Dialect) {
    this.db = db;
    this.dialect = dialect;
  }
}

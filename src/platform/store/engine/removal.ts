import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from './dialect.ts';

/** How rows are removed in the background, by engine. */
export interface Removal {
  /** Where a row is, in a column of every table: found in an index once, it needs no other lookup. */
  readonly rowAddress: 'ctid' | 'rowid';
  /** How long one statement should take. On SQLite everybody waits for it. */
  readonly statementMs: number;
  /** The pause after a statement, as a share of what it took. */
  readonly restShare: number;
}

export const removals: Readonly<Record<Dialect['name'], Removal>> = {
  sqlite: { rowAddress: 'rowid', statementMs: 50, restShare: 0.5 },
  postgres: { rowAddress: 'ctid', statementMs: 150, restShare: 0.2 },
};

/**
 * Rows that a query names by where they are. A row that changes meanwhile is somewhere else, and stays.
 *
 * @param rows the query, without parentheses, of the column it is given.
 */
export function atAddresses(
  dialect: Dialect,
  rows: (address: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<boolean> {
  const { rowAddress } = removals[dialect.name];
  return dialect.inLocked(rowAddress, sql`(${rows(sql.ref(rowAddress))})`);
}

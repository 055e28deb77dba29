import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from './dialect.ts';

/** Parameters of background deletion, by engine. */
export interface Removal {
  /** Physical row address, in a column of every table: it saves any lookup after the first one in an index. */
  readonly rowAddress: 'ctid' | 'rowid';
  /** Target duration of one statement. On SQLite all other statements wait for it. */
  readonly statementMs: number;
  /** Pause after a statement, as a share of its duration. */
  readonly restShare: number;
}

export const removals: Readonly<Record<Dialect['name'], Removal>> = {
  sqlite: { rowAddress: 'rowid', statementMs: 50, restShare: 0.5 },
  postgres: { rowAddress: 'ctid', statementMs: 150, restShare: 0.2 },
};

/** Matches rows of a query by their physical address. A row that moves in the meantime is not matched. */
export function atAddresses(
  dialect: Dialect,
  rows: (address: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<boolean> {
  const { rowAddress } = removals[dialect.name];
  return dialect.inLocked(rowAddress, sql`(${rows(sql.ref(rowAddress))})`);
}

import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Tables } from '../tables.ts';

/** A part of a list: `limit` rows after the first `offset`. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Returns one page of an ordered query, and its total number of rows. */
export async function readPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  page: Page,
): Promise<{ total: number; rows: Row[] }> {
  const counted: { total?: unknown } | undefined = await query
    .clearSelect()
    .clearOrderBy()
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirst();
  const rows = await query.limit(page.limit).offset(page.offset).execute();
  return { total: Number(counted?.total ?? 0), rows };
}

/** Matches the rows behind a cursor, in a list ordered by creation time and id, newest first. */
export function isBehind(cursor: { readonly created: number; readonly id: string }): RawBuilder<boolean> {
  return sql<boolean>`(created < ${cursor.created} or (created = ${cursor.created} and id < ${cursor.id}))`;
}

const sizes = [64, 16, 4, 1] as const;

/**
 * Splits rows into batches of a few fixed sizes. The text of a multi-row insert depends on the number of rows; four
 * sizes mean four statements to prepare and keep, not one for every number.
 */
export function* batches<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  let start = 0;
  for (const size of sizes) {
    while (rows.length - start >= size) {
      yield rows.slice(start, start + size);
      start += size;
    }
  }
}

/** Name of the service's connections on PostgreSQL, with the schema that the build requires. */
export const applicationName = 'picket service/0070';
/** Name used by builds that do not support partitioned runs. */
export const nameBeforeRunDays = 'picket service';

/** Start of the oldest transaction of the other service processes, by PostgreSQL; null if no other is open. */
export async function oldestTransactionMs(db: Kysely<Tables>): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(xact_start)) * 1000)::double precision as ms from pg_stat_activity
      where datname = current_database() and application_name like 'picket service%'
        and pid <> pg_backend_pid()`.execute(db);
  return rows[0]?.ms ?? null;
}

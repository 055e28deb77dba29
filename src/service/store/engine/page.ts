import type { SelectQueryBuilder } from 'kysely';

/** A part of a list: `limit` rows after the first `offset`. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** One page of the rows of a query that says their order, and how many rows there are in all. */
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

import { type RawBuilder, sql } from 'kysely';

/** A type of a column on PostgreSQL. `json text` is JSON in a column of type text. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'double precision' | 'json' | 'json text';

/**
 * Between the texts of a list, and in place of one that is null. JSON has no such characters, it escapes
 * them.
 */
const [separator, noText] = ['\u001e', '\u001f'] as const;

/**
 * The values of a column as one array. JSON goes as one text that the database takes apart: as an element of
 * an array every quotation mark in it would have to be escaped here and unescaped there, and results are full
 * of them.
 */
export function arrayOf(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  if (type !== 'json' && type !== 'json text') return sql`${values}::${sql.raw(type)}[]`;
  const list = values.map((value) => value ?? noText).join(separator);
  const texts = sql`string_to_array(${list}, ${sql.lit(separator)}, ${sql.lit(noText)})`;
  return type === 'json' ? sql`${texts}::json[]` : texts;
}

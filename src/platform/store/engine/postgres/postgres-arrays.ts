import { type RawBuilder, sql } from 'kysely';

/** Column type on PostgreSQL. `json text` is JSON in a column of type text. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'double precision' | 'json' | 'json text' | 'bytea';

/**
 * Separator between the texts of a list, and placeholder for null. JSON text never contains these characters, since it
 * escapes them.
 */
const [separator, noText] = ['\u001e', '\u001f'] as const;

/**
 * Passes the values of a column as one array. JSON is passed as one text that the database splits: as array elements,
 * every quotation mark in it would have to be escaped and unescaped, and results are full of them.
 */
export function arrayOf(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  if (type === 'bytea') return bytesOf(values as readonly (Uint8Array | null)[]);
  if (type !== 'json' && type !== 'json text') return sql`${values}::${sql.raw(type)}[]`;
  const list = values.map((value) => value ?? noText).join(separator);
  const texts = sql`string_to_array(${list}, ${sql.lit(separator)}, ${sql.lit(noText)})`;
  return type === 'json' ? sql`${texts}::json[]` : texts;
}

/** Passes all bytes as one raw parameter with the offsets of the values: as an array they would be sent in hex. */
function bytesOf(values: readonly (Uint8Array | null)[]): RawBuilder<unknown> {
  let end = 1;
  const starts: number[] = [];
  const lengths: (number | null)[] = [];
  for (const value of values) {
    starts.push(end);
    lengths.push(value?.length ?? null);
    end += value?.length ?? 0;
  }
  const all = Buffer.concat(values.filter((value) => value !== null));
  return sql`(select array_agg(substring(${all}::bytea from first for length) order by place)
    from unnest(${starts}::integer[], ${lengths}::integer[]) with ordinality as parts (first, length, place))`;
}

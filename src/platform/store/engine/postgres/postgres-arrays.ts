import { type RawBuilder, sql } from 'kysely';

/** Column type on PostgreSQL. `json text` is JSON in a column of type text. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'double precision' | 'json' | 'json text' | 'bytea';

/**
 * Separator between the texts of a list, and placeholder for null. JSON text never contains these characters, since it
 * escapes them.
 */
const [separator, noText] = ['\u001e', '\u001f'] as const;

/**
 * Rows as a row source, with an array for each column whose values differ. Most columns of many runs or results have one
 * value for all: that is passed once, which costs both sides a third as much as an array of it.
 *
 * @param rows at least one.
 */
export function rowSource<Row extends object>(
  types: Readonly<Record<keyof Row & string, ColumnType>>,
  rows: readonly Row[],
): RawBuilder<unknown> {
  const columns = Object.entries(types) as [keyof Row & string, ColumnType][];
  const arrays: RawBuilder<unknown>[] = [];
  const names: RawBuilder<unknown>[] = [];
  const selected = columns.map(([column, type], index) => {
    const first = rows[0]?.[column];
    // One array at least: it decides on the number of rows.
    if (index > 0 && rows.every((row) => row[column] === first)) {
      return sql`${first ?? null}::${sql.raw(scalarType(type))} as ${sql.ref(column)}`;
    }
    names.push(sql.ref(column));
    arrays.push(
      arrayOf(
        type,
        rows.map((row) => row[column]),
      ),
    );
    return sql.ref(column);
  });
  return sql`(select ${sql.join(selected)} from unnest(${sql.join(arrays)}) as given (${sql.join(names)}))`;
}

function scalarType(type: ColumnType): string {
  return type === 'json text' ? 'text' : type;
}

/**
 * Passes the values of a column as one array. JSON is passed as one text that the database splits: as array elements,
 * every quotation mark in it would have to be escaped and unescaped, and results are full of them.
 */
function arrayOf(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  if (type === 'bytea') return bytesOf(values as readonly (Uint8Array | null)[]);
  if (type === 'text') return sql`${values}::text[]`;
  if (type !== 'json' && type !== 'json text') {
    // The driver would put quotation marks around each number.
    return sql`${`{${values.map((value) => value ?? 'null').join(',')}}`}::${sql.raw(type)}[]`;
  }
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

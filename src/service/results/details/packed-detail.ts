import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type RawBuilder, sql } from 'kysely';
import type { PackedRow, ResultRow } from '../tables.ts';
import { detailDictionary } from './dictionary.ts';

/** The first byte says how the rest came about: what is stored can be read by every later build. */
const zstdWithDictionary = 1;
/** Shorter ones cost more to pack than they take. */
const smallestBytes = 200;
const leftOut = new Uint8Array(0);

/** Stored results whose details were not left out. */
export const isWhole: RawBuilder<boolean> = sql<boolean>`coalesce(length(packed_detail), 1) > 0`;

/**
 * Small tables: most details are a few kilobytes, and clearing the tables would cost more than compressing does.
 * Large ones look back further.
 */
function options(bytes: number) {
  return {
    dictionary: detailDictionary,
    chunkSize: 4096,
    params: {
      [constants.ZSTD_c_compressionLevel]: 1,
      [constants.ZSTD_c_windowLog]: bytes > 8_192 ? 20 : 14,
    },
  };
}

/** The row of a result as it is stored. */
export function packRow<Row extends ResultRow>(row: Row): PackedRow<Row> {
  const { is_detail_left_out: isLeftOut, ...rest } = row;
  if (isLeftOut) return { ...rest, detail: null, packed_detail: leftOut };
  const { detail } = row;
  if (detail === null || detail.length < smallestBytes) return { ...rest, packed_detail: null };
  return { ...rest, detail: null, packed_detail: packDetail(detail) };
}

/** A stored row as the service knows it. */
export function unpackRow<Row extends ResultRow>(stored: PackedRow<Row>): Row {
  const { packed_detail: packed, ...rest } = stored;
  const { detail, isLeftOut } = unpackDetail(stored);
  if (packed === null) return rest as unknown as Row;
  return { ...rest, detail, ...(isLeftOut ? { is_detail_left_out: true } : {}) } as unknown as Row;
}

/** The detail of a stored row. */
export function unpackDetail({
  detail,
  packed_detail: packed,
}: Pick<PackedRow<ResultRow>, 'detail' | 'packed_detail'>): {
  readonly detail: string | null;
  readonly isLeftOut: boolean;
} {
  if (packed === null) return { detail, isLeftOut: false };
  if (packed.length === 0) return { detail: null, isLeftOut: true };
  if (packed[0] !== zstdWithDictionary) {
    throw new Error(`a stored detail has the format ${packed[0]}, which this build does not know`);
  }
  const json = zstdDecompressSync(packed.subarray(1), { dictionary: detailDictionary, chunkSize: 16_384 });
  return { detail: json.toString('utf8'), isLeftOut: false };
}

function packDetail(json: string): Uint8Array {
  const bytes = Buffer.from(json, 'utf8');
  return Buffer.concat([Buffer.of(zstdWithDictionary), zstdCompressSync(bytes, options(bytes.length))]);
}

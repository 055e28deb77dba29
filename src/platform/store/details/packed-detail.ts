import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { HttpDetail } from '@picket/checks/http/detail.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { type RawBuilder, sql } from 'kysely';
import { detailDictionaries } from './dictionary.ts';

/** A result with its detail as JSON. */
export interface DetailedRow {
  readonly check_type: string;
  readonly detail: string | null;
  /** Whether a detail existed that the service omits by configuration. */
  readonly is_detail_left_out?: boolean;
}

/** A row in its stored form: with a compressed or omitted detail. Rows of older builds have it as JSON. */
export type PackedRow<Row extends DetailedRow> = Omit<Row, 'is_detail_left_out'> & {
  /** Empty if the detail was omitted by configuration; null if it is absent or stored in `detail`. */
  packed_detail: Uint8Array | null;
};

/** The first byte is the format of the rest: every later build can read stored details. */
const formats = { http: 1, network: 2 } as const;
type Format = keyof typeof formats;
const formatNames = new Map<number | undefined, Format>([
  [formats.http, 'http'],
  [formats.network, 'network'],
]);
/** Shorter details cost more to compress than they save. */
const smallestBytes = 200;
const leftOut = new Uint8Array(0);

/** Matches stored results whose details were not omitted. */
export const isWhole: RawBuilder<boolean> = sql<boolean>`coalesce(length(packed_detail), 1) > 0`;

/** Window sizes: most details are a few kilobytes, and clearing large tables would cost more than compressing them. */
function options(format: Format, bytes: number) {
  return {
    dictionary: detailDictionaries[format],
    chunkSize: 4096,
    params: {
      [constants.ZSTD_c_compressionLevel]: 1,
      [constants.ZSTD_c_windowLog]: bytes > 8_192 ? 20 : 14,
    },
  };
}

/** Converts a result to its stored form. */
export function packRow<Row extends DetailedRow>(row: Row): PackedRow<Row> {
  const { is_detail_left_out: isLeftOut, ...rest } = row;
  if (isLeftOut) return { ...rest, detail: null, packed_detail: leftOut };
  const { detail } = row;
  if (detail === null || detail.length < smallestBytes) return { ...rest, packed_detail: null };
  return { ...rest, detail: null, packed_detail: packDetail(detail, formatOf(row.check_type)) };
}

/** Converts a stored row to a result. */
export function unpackRow<Row extends DetailedRow>(stored: PackedRow<Row>): Row {
  const { packed_detail: packed, ...rest } = stored;
  const { detail, isLeftOut } = unpackDetail(stored);
  if (packed === null) return rest as unknown as Row;
  return { ...rest, detail, ...(isLeftOut ? { is_detail_left_out: true } : {}) } as unknown as Row;
}

/** Returns the detail of a stored row. */
export function unpackDetail({
  detail,
  packed_detail: packed,
}: Pick<PackedRow<DetailedRow>, 'detail' | 'packed_detail'>): {
  readonly detail: string | null;
  readonly isLeftOut: boolean;
} {
  if (packed === null) return { detail, isLeftOut: false };
  if (packed.length === 0) return { detail: null, isLeftOut: true };
  const format = formatNames.get(packed[0]);
  if (!format) throw new Error(`a stored detail has the format ${packed[0]}, which this build does not know`);
  const dictionary = detailDictionaries[format];
  const json = zstdDecompressSync(packed.subarray(1), { dictionary, chunkSize: 8_192 });
  return { detail: json.toString('utf8'), isLeftOut: false };
}

function formatOf(checkType: string): Format {
  return findCheckType(checkType)?.detail === HttpDetail.schema ? 'http' : 'network';
}

function packDetail(json: string, format: Format): Uint8Array {
  const bytes = Buffer.from(json, 'utf8');
  return Buffer.concat([Buffer.of(formats[format]), zstdCompressSync(bytes, options(format, bytes.length))]);
}

/** Statistics of numbers that are known before ranks are requested. */
export interface Extent {
  /** Number of values, excluding NaN. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
}

/** Fewer numbers than this are sorted directly. */
const fewNumbers = 20_000;
/** Low bits of the upper half of a double that buckets ignore: 8 bits of the mantissa distinguish them. */
const bucketShift = 12;

/**
 * The numbers at the given ranks (0 is the smallest), ignoring NaN, exactly as sorting would find them. Numbers are
 * first counted by the upper bits of their doubles, which are ordered like the numbers if none is negative: 256 buckets
 * per power of two. Only the buckets that contain a requested rank are sorted: two passes over a million numbers
 * instead of a full sort.
 */
export function numbersOfRanks(
  values: Float64Array,
  extent: Extent,
  ranks: readonly number[],
): Map<number, number> {
  const sortedRanks = [...new Set(ranks)].sort((left, right) => left - right);
  if (extent.count < fewNumbers || extent.min < 0) {
    const sorted = values.filter((value) => !Number.isNaN(value)).sort();
    return new Map(sortedRanks.map((rank) => [rank, sorted[rank] ?? Number.NaN]));
  }
  const halves = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const first = bucketOf(extent.min);
  const counts = new Uint32Array(bucketOf(extent.max) - first + 1);
  // NaN values lie beyond the last bucket.
  for (let upper = 1; upper < halves.length; upper += 2) {
    const bucket = ((halves[upper] ?? 0) >>> bucketShift) - first;
    if (bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  const wanted = bucketsOfRanks(counts, sortedRanks);
  const places = new Map(
    [...new Set(wanted.map(({ bucket }) => bucket))].map((bucket, place) => [bucket, place]),
  );
  const members = [...places.keys()].map((bucket) => new Float64Array(counts[bucket] ?? 0));
  const filled = new Uint32Array(members.length);
  const placeOf = new Int32Array(counts.length).fill(-1);
  for (const [bucket, place] of places) placeOf[bucket] = place;
  for (let row = 0; row < values.length; row += 1) {
    const bucket = ((halves[row * 2 + 1] ?? 0) >>> bucketShift) - first;
    const place = bucket < placeOf.length ? (placeOf[bucket] ?? -1) : -1;
    if (place < 0) continue;
    const own = members[place];
    const at = filled[place] ?? 0;
    if (own) own[at] = values[row] ?? 0;
    filled[place] = at + 1;
  }
  for (const own of members) own.sort();
  return new Map(
    wanted.map(({ rank, bucket, offset }) => [
      rank,
      members[places.get(bucket) ?? 0]?.[offset] ?? Number.NaN,
    ]),
  );
}

function bucketOf(value: number): number {
  return (new Uint32Array(Float64Array.of(value).buffer)[1] ?? 0) >>> bucketShift;
}

/** Bucket of each rank, and the position within it. */
function bucketsOfRanks(
  counts: Uint32Array,
  ranks: readonly number[],
): { readonly rank: number; readonly bucket: number; readonly offset: number }[] {
  let bucket = 0;
  let before = 0;
  return ranks.map((rank) => {
    while (bucket < counts.length - 1 && before + (counts[bucket] ?? 0) <= rank) {
      before += counts[bucket] ?? 0;
      bucket += 1;
    }
    return { rank, bucket, offset: rank - before };
  });
}

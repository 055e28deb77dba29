import type { DetailCountRow, ResultRow } from '../tables.ts';

/** How often a pass keeps its detail: every n-th pass of a check at a location. 1: all. */
export type EveryNthPass = number;

/** Columns of a result that the decision needs. */
type Decided = Pick<
  ResultRow,
  | 'check_id'
  | 'run_location'
  | 'slot_at'
  | 'has_failures'
  | 'has_errors'
  | 'is_degraded'
  | 'attempts'
  | 'detail'
>;

/** Marker in place of a count: the next pass keeps its detail, because the last result was not a pass. */
const nextIsKept = -1;
/** Maximum age of the last pass with details: root causes are compared with one. */
const longestMs = 86_400_000;

export function countKey({ check_id: checkId, location }: Pick<DetailCountRow, 'check_id' | 'location'>) {
  return `${checkId} ${location}`;
}

/**
 * Decides which scheduled results lose their details. Kept are the details of everything but a plain pass (failures,
 * errors, degraded runs, runs that passed on retry), of the first pass after one of those, of every n-th pass, and of
 * one pass per day.
 *
 * @param counts the known counts of their checks.
 * @returns the results whose details are dropped, and the counts that changed.
 */
export function decideDetails<Row extends Decided>(
  rows: readonly Row[],
  counts: readonly DetailCountRow[],
  { everyNthPass, now }: { readonly everyNthPass: EveryNthPass; readonly now: number },
): { readonly leftOut: ReadonlySet<Row>; readonly changed: DetailCountRow[] } {
  const known = new Map(counts.map((count) => [countKey(count), count]));
  const changed = new Map<string, DetailCountRow>();
  const leftOut = new Set<Row>();
  for (const row of rows.toSorted((one, other) => one.slot_at - other.slot_at)) {
    const place = { check_id: row.check_id, location: row.run_location };
    const key = countKey(place);
    const count = changed.get(key) ?? known.get(key);
    const note = (passes: number, kept: number) => changed.set(key, { ...place, passes, kept });
    if (!isPlainPass(row)) {
      if (count && count.passes !== nextIsKept) note(nextIsKept, count.kept);
    } else if (row.detail !== null) {
      const isDue =
        !count ||
        count.passes === nextIsKept ||
        count.passes + 1 >= everyNthPass ||
        Math.abs(now - count.kept) >= longestMs;
      if (isDue) note(0, now);
      else {
        note(count.passes + 1, count.kept);
        leftOut.add(row);
      }
    }
  }
  return {
    leftOut,
    changed: [...changed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row),
  };
}

function isPlainPass(row: Decided): boolean {
  return row.has_failures === 0 && row.has_errors === 0 && row.is_degraded !== 1 && row.attempts === 0;
}

import { kinds } from '@picket/protocol/projects/kinds.ts';
import type { Change } from '@picket/protocol/projects/project.ts';
import { type DesiredProject, keyOf } from './desired-state.ts';
import { physicalIdOf } from './kinds/index.ts';
import type { ProjectResourceRow } from './tables.ts';

export interface Departure {
  readonly row: ProjectResourceRow;
  readonly change: Change;
}

/**
 * Resources of a project that its code no longer names: to be deleted, or kept outside the project. Resources of an
 * uncommitted import stay.
 *
 * @returns first those to delete before anything is written, then those that others may use until then.
 */
export function departures(
  desired: DesiredProject,
  rows: readonly ProjectResourceRow[],
  preserve: boolean,
): { readonly first: readonly Departure[]; readonly last: readonly Departure[] } {
  const known = new Set([...desired.resources, ...desired.named].map(keyOf));
  const gone = rows
    .filter(
      (row) => row.member === 1 && row.import_id === null && !known.has(`${row.type} ${row.logical_id}`),
    )
    .map((row): Departure => ({ row, change: departure(row, preserve) }));
  const sorted = gone.toSorted((left, right) => order(left.row) - order(right.row));
  return {
    first: sorted.filter(({ row }) => order(row) >= 0),
    last: sorted.filter(({ row }) => order(row) < 0),
  };
}

/** Subscriptions go first. Negative: at the end, groups before locations and channels that only they may still use. */
function order({ type }: ProjectResourceRow): number {
  const at = kinds.findIndex((one) => one.type === type);
  return kinds[at] ? (kinds[at].deletedFirst ?? -1 - at) : 0;
}

function departure(row: ProjectResourceRow, preserve: boolean): Change {
  return {
    type: row.type as Change['type'],
    logicalId: row.logical_id,
    physicalId: physicalIdOf(row.type, row.physical_id),
    action: preserve ? 'DETACHED' : 'DELETE',
  };
}

import type { Change } from '../../protocol/projects/project.ts';
import { type KindName, kinds, physicalIdOf } from './kinds/index.ts';
import type { ProjectResourceRow } from './tables.ts';
import { keyOf, type WishedProject } from './wished.ts';

/** What has to go before anything is written: what replaces it may have the same address. */
const goneFirst: readonly string[] = [
  'alert-channel-subscription',
  'slo',
  'check',
  'status-page',
  'dashboard',
  'maintenance-window',
  'variable',
] satisfies readonly (KindName | 'alert-channel-subscription')[];

export interface Departure {
  readonly row: ProjectResourceRow;
  readonly change: Change;
}

/**
 * What a project had and its code does not name any more: to be deleted, or kept without the project. What came
 * with an import that is not committed stays.
 *
 * @returns first what goes before anything is written, then what others may be using until then.
 */
export function departures(
  wished: WishedProject,
  rows: readonly ProjectResourceRow[],
  preserve: boolean,
): { readonly first: readonly Departure[]; readonly last: readonly Departure[] } {
  const known = new Set([...wished.resources, ...wished.named].map(keyOf));
  const gone = rows
    .filter(
      (row) => row.member === 1 && row.import_id === null && !known.has(`${row.type} ${row.logical_id}`),
    )
    .map((row): Departure => ({ row, change: departure(row, preserve) }));
  const order = ({ row }: Departure) => goneFirst.indexOf(row.type);
  return {
    first: gone.filter((one) => order(one) !== -1).sort((left, right) => order(left) - order(right)),
    last: gone
      .filter((one) => order(one) === -1)
      .sort((left, right) => lastOrder(left.row) - lastOrder(right.row)),
  };
}

/** Groups before the locations and channels that they may be the last to use. */
function lastOrder({ type }: ProjectResourceRow): number {
  return -Object.keys(kinds).indexOf(type);
}

function departure(row: ProjectResourceRow, preserve: boolean): Change {
  return {
    type: row.type as Change['type'],
    logicalId: row.logical_id,
    physicalId: physicalIdOf(row.type, row.physical_id),
    action: preserve ? 'DETACHED' : 'DELETE',
  };
}

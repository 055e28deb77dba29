import { type DesiredResource, keyOf } from './desired-state.ts';
import { isKind, kinds, physicalIdOf } from './kinds/index.ts';
import type { Body, ResourceKind } from './kinds/kind.ts';
import type { ProjectResourceRow } from './tables.ts';

/** A change that must be made first. */
export interface Vacated {
  readonly kind: ResourceKind;
  readonly id: string | number;
  readonly body: Body;
}

/**
 * Addresses that pass from one page of a project to another: an address belongs to one page at any time, so owners
 * release it before any page is written. The order of resources then does not matter, and pages can swap addresses.
 *
 * @param rows pages that are to be written or deleted.
 */
export async function vacated(
  desired: readonly DesiredResource[],
  rows: readonly ProjectResourceRow[],
  stored: (kind: ResourceKind, id: string | number) => Promise<Body | undefined>,
): Promise<Vacated[]> {
  const takers = new Map<string, string>();
  for (const one of desired) {
    if (!isKind(one.type)) continue;
    const kind = kinds[one.type];
    const body = kind.exclusive ? (kind.bodyOf?.(one.payload) ?? one.payload) : {};
    for (const field of Object.keys(kind.exclusive ?? {})) {
      if (typeof body[field] === 'string') takers.set(`${field} ${body[field]}`, keyOf(one));
    }
  }
  if (takers.size === 0) return [];
  const found: Vacated[] = [];
  for (const row of rows) {
    const kind: ResourceKind | undefined = kinds[row.type as keyof typeof kinds];
    if (!kind?.exclusive) continue;
    const id = physicalIdOf(row.type, row.physical_id);
    const present = (await stored(kind, id)) ?? {};
    const owner = `${row.type} ${row.logical_id}`;
    const given = Object.entries(kind.exclusive).filter(([field]) => {
      const taker = takers.get(`${field} ${present[field]}`);
      return taker !== undefined && taker !== owner;
    });
    if (given.length === 0) continue;
    found.push({
      kind,
      id,
      body: Object.fromEntries(given.map(([field, meanwhile]) => [field, meanwhile()])),
    });
  }
  return found;
}

import { regions } from '@picket/checks/tables/regions.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '../store/repositories.ts';
import { fieldError } from './validation.ts';

/** @throws AppError NOT_FOUND when the object of a path does not exist: "There is no snippet 7." */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(what);
  return value;
}

export function notFound(what: string): AppError {
  return new AppError('NOT_FOUND', `There is no ${what}.`);
}

/**
 * Requires every private location of a check or a group to exist, and keeps it until this transaction ends.
 *
 * @throws AppError VALIDATION_FAILED, naming each missing location.
 */
export async function requireLocations(
  repositories: Pick<Repositories, 'locations'>,
  accountId: string,
  { privateLocations }: { readonly privateLocations?: readonly string[] | null | undefined },
): Promise<void> {
  const slugs = privateLocations ?? [];
  const known = await repositories.locations.findBySlugs(accountId, slugs);
  const problems = slugs.flatMap((slug, index) =>
    known.has(slug)
      ? []
      : [{ key: `privateLocations.${index}`, message: `names no private location: ${JSON.stringify(slug)}` }],
  );
  if (problems.length > 0) throw fieldError('payload', problems);
}

/**
 * Requires the group that a check joins to exist, and locks it until this transaction ends. Call it before the check's
 * own row is locked: a change of a group locks the group first and then its checks.
 *
 * @throws AppError VALIDATION_FAILED when the group does not exist.
 */
export async function requireGroup(
  repositories: Pick<Repositories, 'groups'>,
  accountId: string,
  groupId: unknown,
): Promise<void> {
  // A value of another type is refused along with all other wrong fields.
  if (typeof groupId !== 'number' || !Number.isSafeInteger(groupId)) return;
  if (await repositories.groups.findForUpdate(accountId, groupId)) return;
  throw fieldError('payload', [{ key: 'groupId', message: `names no check group: ${groupId}` }]);
}

/**
 * Requires the location of a request to be a region or a private location.
 *
 * @throws AppError VALIDATION_FAILED when it is neither.
 */
export async function requireLocation(
  { store }: { readonly store: Pick<Repositories, 'locations'> },
  accountId: string,
  name: string | undefined,
  named: { readonly source: 'payload' | 'query'; readonly key: string },
): Promise<void> {
  if (name === undefined || (regions as readonly string[]).includes(name)) return;
  const known = await store.locations.idsBySlug([accountId]);
  if (known.has(`${accountId}/${name}`)) return;
  throw fieldError(named.source, [
    { key: named.key, message: `names no region and no private location: ${JSON.stringify(name)}` },
  ]);
}

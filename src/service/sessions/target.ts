import { findCheckType } from '@picket/checks/index.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type EffectiveCheck, tagsOf, withGroups } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { locationsOf } from '../checks/timing/slots.ts';

/** Selects checks to run. Without a condition: all that can be run. */
export interface SessionTarget {
  /** Checks with all tags of any of these lists; a tag prefixed by `!` must be absent. */
  readonly matchTags?: readonly (readonly string[])[] | undefined;
  readonly checkIds?: readonly string[] | undefined;
  readonly groupId?: number | undefined;
  readonly allowDeactivated?: boolean | undefined;
  /** Whether checks run at their own locations, so that those without one cannot be run. */
  readonly needsLocation: boolean;
}

/** Limit per request: every check is a session, and agents would be busy with nothing else. */
const maxChecks = 1000;

/**
 * Checks that a target selects, locked so that none is deleted before the transaction ends.
 *
 * @throws AppError NOT_FOUND if no check matches, VALIDATION_FAILED if too many do.
 */
export async function matchingChecks(
  repositories: Pick<Repositories, 'checks' | 'groups'>,
  accountId: string,
  target: SessionTarget,
): Promise<EffectiveCheck[]> {
  const stored = await repositories.checks.lockMany(
    accountId,
    {
      ids: target.checkIds,
      groupId: target.groupId,
      isActivated: target.allowDeactivated ? undefined : true,
    },
    // Tags are compared here, so all candidates are read.
    maxCandidates,
  );
  // Tags of groups count, and a deactivated group deactivates its checks.
  const checks = await withGroups(repositories, stored);
  const matching = checks.filter((check) => isRunnable(check, target) && hasTags(check, target.matchTags));
  if (matching.length === 0) throw new AppError('NOT_FOUND', 'No matching checks were found.');
  if (matching.length > maxChecks) {
    throw new AppError(
      'VALIDATION_FAILED',
      `The target matches ${matching.length} checks; one request runs at most ${maxChecks}. Name fewer tags or ids.`,
      { validation: { source: 'payload', keys: ['target'] } },
    );
  }
  return matching;
}

const maxCandidates = 20_000;

function isRunnable(check: Check, { needsLocation, allowDeactivated }: SessionTarget): boolean {
  if (!check.activated && !allowDeactivated) return false;
  const type = findCheckType(check.checkType);
  if (!type || type.pings) return false;
  return !needsLocation || locationsOf(check.definition).length > 0;
}

/** Whether a check has the tags of any of the lists (check model 4.8): OR of ANDs, `!` negates. */
export function hasTags(
  check: Pick<Check, 'definition'>,
  matchTags: readonly (readonly string[])[] | undefined,
): boolean {
  if (!matchTags || matchTags.length === 0) return true;
  const tags = new Set(tagsOf(check));
  return matchTags.some((all) =>
    all.every((tag) => (tag.startsWith('!') ? !tags.has(tag.slice(1)) : tags.has(tag))),
  );
}

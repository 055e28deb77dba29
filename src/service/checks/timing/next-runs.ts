import type { Repositories } from '@picket/platform/store/repositories.ts';
import { withGroups } from '../effective-check.ts';
import type { Check } from '../store.ts';
import { changesWhenFailing, dueTimes, timingOf } from './timing.ts';

/** When each of the checks is due next, in epoch milliseconds, as things are; those that are not scheduled are omitted. */
export async function nextRunsOf(
  repositories: Pick<Repositories, 'groups' | 'statuses'>,
  checks: readonly Check[],
): Promise<ReadonlyMap<string, number>> {
  const planned = checks.filter(({ slots }) => slots.plannedAt !== null);
  const failing = await failingAmong(repositories, planned);
  const inEffect = new Map((await withGroups(repositories, planned)).map((check) => [check.id, check]));
  return new Map(
    checks.flatMap(({ id, slots: { nextSlotAt } }) => {
      if (nextSlotAt === null) return [];
      const check = inEffect.get(id);
      // The scheduler also looks at slots that are due only while the check fails.
      const at = check ? dueTimes(timingOf(check), failing.has(id)).next(nextSlotAt - 1) : nextSlotAt;
      return at === null ? [] : [[id, at] as const];
    }),
  );
}

/** Those of the checks that run at another frequency now, because they fail, by id. */
export async function failingAmong(
  repositories: Pick<Repositories, 'statuses'>,
  checks: readonly Check[],
): Promise<ReadonlySet<string>> {
  const ids = checks.filter(changesWhenFailing).map(({ id }) => id);
  return ids.length === 0 ? new Set() : repositories.statuses.failingAmong(ids);
}

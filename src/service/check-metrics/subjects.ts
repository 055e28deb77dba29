import { setImmediate } from 'node:timers/promises';
import type { Store } from '@picket/platform/store/store.ts';
import type { Subject } from './exposition.ts';
import type { LocationTotals, MetricsSubject } from './store.ts';
import type { SubjectLabels } from './subject-labels.ts';

/** Selects checks. */
export interface Scope {
  /** Absent: all accounts. */
  readonly accountId: string | undefined;
  /** Checks with one of these tags; all checks if empty. */
  readonly tags: readonly string[];
}

/** Limit of checks per response. */
export const mostChecks = 20_000;
const checksPerRead = 500;

export interface Subjects {
  readonly subjects: readonly Subject[];
  /** Whether there are more checks than the limit. */
  readonly isCut: boolean;
}

/** Checks of a scope with their labels, by id. */
export async function subjectsOf(
  store: Pick<Store, 'checkTotals' | 'states'>,
  scope: Scope,
  now: number,
  totals: ReadonlyMap<string, readonly LocationTotals[]>,
  labels: SubjectLabels,
): Promise<Subjects> {
  const paused = await store.states.paused(
    scope.accountId === undefined ? undefined : [scope.accountId],
    now,
  );
  const rows: MetricsSubject[] = [];
  const tags = new Map<string, string[]>();
  for (let after = ''; rows.length <= mostChecks; ) {
    const read = await store.checkTotals.subjectsAfter(after, scope, checksPerRead, { now, paused });
    rows.push(...read);
    for (const [id, own] of await store.checkTotals.tagsOf(read.map(({ id }) => id))) tags.set(id, own);
    const last = read.at(-1);
    if (!last || read.length < checksPerRead) break;
    after = last.id;
    await setImmediate();
  }
  const shown = rows.slice(0, mostChecks);
  labels.useKeys(tags.values());
  const subjects = shown.map((check): Subject => {
    const own = labels.of(check, tags.get(check.id) ?? []);
    const places = (totals.get(check.id) ?? []).map((one) => ({
      labels: own.at(one.location),
      totals: one.totals,
      last: one.totals.last,
      isMeasured: isMeasuredAt(check, one, now),
    }));
    return { check, labels: own.labels, infoLabels: own.infoLabels, places };
  });
  return { subjects, isCut: rows.length > mostChecks };
}

/** Whether the last run at a location reflects the target's current state. Always true for checks without slots. */
function isMeasuredAt(check: MetricsSubject, { totals }: LocationTotals, now: number): boolean {
  if (totals.last === null || totals.last.isJudged === false) return false;
  if (['not-measured', 'pending', 'paused'].includes(check.state)) return false;
  return check.longest_silence_ms === null || totals.last.ended >= now - check.longest_silence_ms;
}

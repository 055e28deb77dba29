import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { EffectiveCheck } from '../checks/effective-check.ts';
import type { Check } from '../checks/store.ts';
import { timingOf } from '../checks/timing/timing.ts';
import { queuedRun, type RunNumbers } from '../runs/due-runs.ts';
import type { RunRow } from '../runs/tables.ts';

/**
 * How long an on-demand run waits for an agent. While agents work through the runs before it, the wait is renewed: see
 * longer-waits.ts.
 */
const freshMs = 6 * 60_000;

/** An on-demand run of a check. */
export function requestedRun(
  check: EffectiveCheck,
  at: {
    readonly location: string;
    /** Location id by slug. */
    readonly ids: ReadonlyMap<string, string>;
    readonly now: number;
    readonly numbers: RunNumbers;
    readonly session: Partial<Pick<RunRow, 'check_session_id' | 'test_session_id'>>;
  },
): RunRow {
  const { location, ids, now, numbers, session } = at;
  const locationId = ids.get(location) ?? null;
  const checkRunId = numbers.next(now);
  const slotAt = offGrid(check, now);
  return {
    ...queuedRun(check, { location, locationId, slotAt, freshMs, checkRunId, now }),
    ...session,
    ready_at: now,
  };
}

/** An instant outside of the check's own slots, which stay free for the scheduler. */
function offGrid(check: Check, at: number): number {
  const { usual, failing } = timingOf(check);
  return [usual, failing].some((times) => times?.next(at - 1) === at) ? at + 1 : at;
}

/**
 * Queues runs outside the schedule. Each is a slot of its own: if another request has the same millisecond, the next
 * free one is used, so that every slot has one terminal record here, too.
 */
export async function queueAlone(
  repositories: Pick<Repositories, 'runs'>,
  checks: readonly Check[],
  runs: readonly RunRow[],
): Promise<RunRow[]> {
  const byId = new Map(checks.map((check) => [check.id, check]));
  const queued: RunRow[] = [];
  let left = runs;
  while (left.length > 0) {
    const inserted = await repositories.runs.insert(left);
    queued.push(...inserted);
    const done = new Set(inserted.map((run) => run.id));
    left = left.flatMap((run) => {
      const check = byId.get(run.check_id);
      return done.has(run.id) || !check ? [] : [{ ...run, slot_at: offGrid(check, run.slot_at + 1) }];
    });
  }
  return queued;
}

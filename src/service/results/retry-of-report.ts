import type { RetryStrategy } from '@picket/checks/contract/definition/common-fields.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { queuedSignals, type Signal } from '@picket/platform/store/engine/signals.ts';
import type { ResultReport } from '@picket/protocol/agent/agent.ts';
import type { Check } from '../checks/store.ts';
import { locationsOf } from '../checks/timing/slots.ts';
import { decideRetry, type Retry, storedRetryStrategy } from '../runs/retries.ts';
import type { RunRow } from '../runs/tables.ts';

/** Settings of a test session for its runs. */
export interface SessionSettings {
  readonly project_id: string | null;
  readonly environment: string | null;
  readonly retry_strategy: string | null;
}

/** Wakes all polls of a location for a run in back-off, because each has to know when to poll the database. */
export function retrySignals(
  retried: readonly { readonly run: RunRow; readonly locationId: string | null }[],
): Signal[] {
  const requeued = retried.map(
    ({ run, locationId }): RunRow => ({ ...run, state: 'queued', location_id: locationId }),
  );
  return queuedSignals(requeued).map((signal) =>
    signal.kind === 'queued' ? { ...signal, count: Number.MAX_SAFE_INTEGER } : signal,
  );
}

/** The next attempt of a run after a report; null if it gets none. */
export function decide(
  report: ResultReport,
  run: RunRow,
  {
    check,
    session,
    locationsWithAgents,
    now,
  }: {
    readonly check: Check | undefined;
    readonly session: SessionSettings | undefined;
    readonly locationsWithAgents: ReadonlySet<string>;
    readonly now: number;
  },
): Retry | null {
  if (!report.failure || !check || findCheckType(check.checkType)?.isRetried === false) return null;
  // A check that was deactivated meanwhile is not retried; test sessions also run deactivated checks.
  if (!check.activated && !session) return null;
  // A test session stays at its location.
  const locations = session ? [] : locationsOf(check.definition);
  const own = session?.retry_strategy ?? null;
  return decideRetry({
    failure: report.failure,
    attempt: run.attempt,
    firstStartMs: run.first_leased_at ?? now,
    nowMs: now,
    retryStrategy:
      own === null ? (check.definition.retryStrategy as RetryStrategy | null) : storedRetryStrategy(own),
    doubleCheck: own === null && check.definition.doubleCheck === true,
    runParallel: check.definition.runParallel === true,
    location: run.location,
    otherLocations: locations.filter((name) => name !== run.location && locationsWithAgents.has(name)),
  });
}

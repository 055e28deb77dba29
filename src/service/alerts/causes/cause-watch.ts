import { randomUUID } from 'node:crypto';
import { greatestOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import { AppError } from '@picket/lib/errors.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { shownConfig } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import { alertPolicies } from '../policy.ts';
import { advanceCauses } from './cause-lifecycle.ts';
import { calmMsOf, leavesAt, nextNoticeAt, presentMembers, unreportedOf } from './channel-notices.ts';
import type { CauseContext, FailingCheck } from './failing-check.ts';
import type { CauseEvent, CauseNotice, OpenCause } from './open-cause.ts';
import { storedCauseEvent } from './stored-cause.ts';

/** An agent reports a lasting event every minute. */
export const reportedWithinMs = 5 * 60_000;
/** Reports from a location within this period count toward its number of targets. */
const heardWithinMs = 15 * 60_000;
/** How often an open cause is examined without news, to find deleted checks and locations that are healthy again. */
const lookEveryMs = 60_000;
/** Minimum time between two evaluations of a cause without news. */
const shortestLookMs = 1_000;

/** Counts failures that joined an existing cause. */
export interface GroupedCounter {
  countGrouped(accountId: string, kind: string, count: number): void;
}

/** Runs checks of an account now. @throws AppError NOT_FOUND or CANNOT_RUN_NOW if none of them can run. */
type RunNow = (accountId: string, checkIds: readonly string[]) => Promise<unknown>;

export interface CauseWatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly metrics: GroupedCounter;
  readonly runNow: RunNow;
}

/**
 * Groups the pending news of checks, and notifies channels of causes. Only the leader does this, so that the causes of
 * an account change in one place; decisions are stored in one transaction with the notifications that follow.
 */
export class CauseWatch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #metrics: GroupedCounter;
  readonly #runNow: RunNow;

  constructor({ store, clock, metrics, runNow }: CauseWatchOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#runNow = runNow;
  }

  async turn(): Promise<number | null> {
    const now = this.#clock.wallMs();
    // Reads first, so that an idle service opens no write transactions.
    for (const accountId of await this.#store.alertCauses.dueAccounts(now)) {
      const done = await this.#store.leaderTransaction((repositories) =>
        advance(repositories, accountId, now),
      );
      if (!done) return null;
      for (const [kind, count] of done.grouped) this.#metrics.countGrouped(accountId, kind, count);
      if (done.hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
      await this.#hurry(accountId, done.hurried);
    }
    return this.#store.alertCauses.nextDueAt();
  }

  /**
   * Runs checks now, like a run that a user starts: results count for statuses and alerts, but not as slots of the
   * schedule. If the process ends first, they run at their next slot.
   */
  async #hurry(accountId: string, checkIds: readonly string[]): Promise<void> {
    if (checkIds.length === 0) return;
    try {
      await this.#runNow(accountId, checkIds);
    } catch (thrown) {
      // None of them can run: they are heartbeats, have been deactivated, or have no agent.
      const cannotRun = thrown instanceof AppError && ['NOT_FOUND', 'CANNOT_RUN_NOW'].includes(thrown.code);
      if (!cannotRun) throw thrown;
    }
  }
}

async function advance(repositories: Repositories, accountId: string, now: number) {
  const { alertCauses } = repositories;
  const stored = await alertCauses.open([accountId]);
  const failing = stored.flatMap(({ members }) =>
    members.flatMap(({ fact, recovered }) => (recovered === null ? [fact] : [])),
  );
  // States are read first: a check that recovers after this has its own news.
  const present = await alertCauses.withState(failing.map(({ checkId }) => checkId));
  const rows = await alertCauses.news(accountId);
  const waiting = new Set(rows.map((row) => row.check_id));
  const gone = failing.filter(({ checkId }) => !present.has(checkId) && !waiting.has(checkId));
  // Unreadable news is deleted with the rest, so that it does not block other news of the account.
  const news = rows.flatMap((row) => storedCauseEvent(row, now) ?? []);
  const facts = [...failing, ...news.flatMap((one) => (one.kind === 'failure' ? [one.fact] : []))];
  const placed = await withPlaces(repositories, facts);
  const open = stored.map((cause) => ({
    ...cause,
    members: cause.members.map((member) => ({ ...member, fact: placed.get(member.fact) ?? member.fact })),
  }));
  const context = {
    ...(await contextOf(repositories, accountId, facts, now)),
    withheld: await withheldAmong(repositories, open, news, now),
  };
  const step = advanceCauses(
    open,
    [
      ...gone.map(({ checkId }): CauseEvent => ({ kind: 'gone', checkId })),
      ...news.map((one) =>
        one.kind === 'failure' ? { ...one, fact: placed.get(one.fact) ?? one.fact } : one,
      ),
    ],
    { now, context, newId: randomUUID },
  );
  await alertCauses.lookLater(accountId, now, now + lookEveryMs);
  for (const cause of step.changed)
    await alertCauses.save(accountId, cause, nextLook(cause, context.withheld, now));
  for (const cause of step.changed) {
    const alertIds = cause.members.flatMap(({ alertId, recovery }) => [
      alertId,
      ...(recovery ? [recovery.alertId] : []),
    ]);
    await alertCauses.link(alertIds, cause.id);
  }
  await notify(repositories, accountId, step.notices, now);
  await storeIncidentEvents(repositories, accountId, step.incidents, now);
  const done = rows.filter((row) => !step.held.has(row.check_id));
  await alertCauses.removeNews(done.map(({ position }) => position));
  return {
    hasNews: step.notices.length > 0 || step.incidents.length > 0,
    hurried: step.hurried,
    grouped: groupedBy(stored, step.changed),
  };
}

/** Number of failures that joined others, by kind of cause. */
function groupedBy(before: readonly OpenCause[], after: readonly OpenCause[]): Map<string, number> {
  const known = new Map(before.map((cause) => [cause.id, cause.members.length]));
  const counts = new Map<string, number>();
  for (const { id, kind, members } of after) {
    // The first member is notified on its own.
    const joined = members.length - Math.max(1, known.get(id) ?? 0);
    if (joined > 0) counts.set(kind, (counts.get(kind) ?? 0) + joined);
  }
  return counts;
}

/** Checks, with the current results of the other locations of their slots. */
async function withPlaces(
  repositories: Pick<Repositories, 'statuses'>,
  facts: readonly FailingCheck[],
): Promise<Map<FailingCheck, FailingCheck>> {
  const rows = await repositories.statuses.ofLocations(facts.map(({ checkId }) => checkId));
  const byCheck = Map.groupBy(rows, (row) => row.check_id);
  return new Map(
    facts.map((fact) => {
      const ofSlot = (byCheck.get(fact.checkId) ?? []).filter((row) => row.slot_at === fact.slotAt);
      const named = (rows: typeof ofSlot) => rows.map((row) => row.slot_location);
      const failedAt = named(ofSlot.filter((row) => row.has_failures === 1));
      const passedAt = named(ofSlot.filter((row) => row.has_failures === 0 && row.has_errors === 0));
      const known = fact.failedAt.length + fact.passedAt.length;
      const isMore = failedAt.length > 0 && failedAt.length + passedAt.length > known;
      return [fact, isMore ? { ...fact, failedAt, passedAt } : fact];
    }),
  );
}

async function contextOf(
  repositories: Pick<Repositories, 'alertCauses'>,
  accountId: string,
  facts: readonly FailingCheck[],
  now: number,
): Promise<CauseContext> {
  const { alertCauses } = repositories;
  const suspects = facts
    .filter(({ fromLocation }) => fromLocation !== null)
    .flatMap(({ failedAt }) => failedAt);
  return {
    unhealthy: await alertCauses.unhealthy(accountId, now - reportedWithinMs),
    targetsAt: await alertCauses.targetsAt(accountId, [...new Set(suspects)], now - heardWithinMs),
    parents: await alertCauses.parents([...new Set(facts.flatMap(({ parentIds }) => parentIds))]),
  };
}

/**
 * Checks that are to be reported as joined but were muted, silenced or in a window before that could happen. Their
 * alerts are older, because failures that begin while held back create no news.
 */
async function withheldAmong(
  repositories: Repositories,
  open: readonly OpenCause[],
  news: readonly CauseEvent[],
  now: number,
): Promise<Set<string>> {
  if (open.length === 0) return new Set();
  const facts = [
    ...open.flatMap(unreportedOf).map(({ fact }) => fact),
    ...news.flatMap((one) => (one.kind === 'failure' ? [one.fact] : [])),
  ];
  if (facts.length === 0) return new Set();
  const policies = await alertPolicies(
    repositories,
    facts.map(({ checkId }) => checkId),
    now,
  );
  return new Set(
    facts.flatMap(({ checkId, failedAt }) =>
      policies.get(checkId)?.withheldAt(failedAt) == null ? [] : [checkId],
    ),
  );
}

/** When time alone may change a cause. */
function nextLook(cause: OpenCause, withheld: ReadonlySet<string>, now: number): number | null {
  if (cause.closed !== null) return null;
  const members = presentMembers(cause);
  const soonest = now + shortestLookMs;
  if (members.some(({ recovered }) => recovered === null)) {
    const times = [nextNoticeAt(cause, withheld), ...members.map((member) => leavesAt(cause, member))];
    return Math.max(soonest, Math.min(now + lookEveryMs, ...times.filter((at) => at !== null)));
  }
  const interval = greatestOf(members.map(({ fact }) => fact.intervalMs));
  return Math.max(soonest, greatestOf(members.map(({ recovered }) => recovered ?? now)) + calmMsOf(interval));
}

async function notify(
  repositories: Pick<Repositories, 'alertChannels' | 'notifications'>,
  accountId: string,
  notices: readonly CauseNotice[],
  now: number,
): Promise<void> {
  if (notices.length === 0) return;
  const channels = new Map<number, AlertChannel>(
    (await repositories.alertChannels.all(accountId)).map((channel) => [channel.id, channel]),
  );
  await repositories.notifications.insert(
    notices.flatMap(({ alertId, checkId, channelId, update }) => {
      const channel = channels.get(channelId);
      if (!channel) return [];
      return [
        {
          ...{ id: randomUUID(), account_id: accountId, alert_id: alertId, check_id: checkId },
          ...{
            channel_id: channelId,
            channel_type: channel.type,
            config: JSON.stringify(shownConfig(channel)),
          },
          ...{ status: 'IN_PROGRESS' as const, tries: 0, next_at: now, last_try: null },
          ...{ result: null, created: now, ended: null },
          cause_update: update ? JSON.stringify(update) : null,
        },
      ];
    }),
  );
}

async function storeIncidentEvents(
  repositories: Pick<Repositories, 'incidentEvents'>,
  accountId: string,
  incidents: ReturnType<typeof advanceCauses>['incidents'],
  now: number,
): Promise<void> {
  for (const { kind, incident } of incidents) {
    await repositories.incidentEvents.insert({
      trigger_id: incident.triggerId,
      account_id: accountId,
      check_id: incident.checkId,
      kind,
      definition: JSON.stringify(incident.incident),
      created: now,
    });
  }
}

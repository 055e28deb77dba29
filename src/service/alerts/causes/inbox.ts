import { findCheckType } from '@picket/checks/index.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Check } from '../../checks/store.ts';
import { intervalOf } from '../../checks/timing/timing.ts';
import { askedBy } from '../../incidents/trigger.ts';
import type { StoredChannel } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import { type AlertedResult, hostOfCheck } from '../facts.ts';
import type { AlertRow } from '../tables.ts';
import { evidenceOf } from './evidence.ts';
import type { FailingCheck } from './failing-check.ts';
import type { StoredCauseEvent } from './stored-cause.ts';

/**
 * How long a check that starts to fail is held so that others can be grouped with it: long enough for simultaneous
 * failures to be reported and for other locations of the slot to report that they pass, yet short compared with the
 * time that users take to react. A failure that no other check of the account could share is not held at all.
 */
export const holdMs = 10_000;

/**
 * Interval for check types that no agent runs: they fail when no ping arrives, so their own interval does not matter.
 */
const unscheduledIntervalMs = 60_000;

/** An alert of a check that channels are to be notified of. */
export interface AlertToRoute {
  readonly check: Check;
  readonly alert: AlertRow;
  readonly reminder: number;
  /** First slot since the check last passed, in epoch milliseconds. */
  readonly since: number;
  readonly result: AlertedResult | undefined;
  /** Channels that want it. */
  readonly channels: readonly AlertChannel[];
}

/**
 * Decides whether the cause of an alert routes it, and which channels are notified right away: channels that do not
 * group, and all channels if the alert stands alone. The cause handles the other channels and any incident.
 */
export async function routeByCause(
  repositories: Pick<Repositories, 'alertCauses' | 'automationRules'>,
  routed: AlertToRoute,
  now: number,
): Promise<{ readonly isGrouped: boolean; readonly channels: readonly AlertChannel[] }> {
  const { check, alert, channels, reminder } = routed;
  const grouping = channels.filter(({ definition }) => (definition as StoredChannel).groupByCause !== false);
  const rest = channels.filter((channel) => !grouping.includes(channel));
  const channelIds = grouping.map(({ id }) => id);
  const base = { alertId: alert.id, channelIds };
  const followedAt = await repositories.alertCauses.followedAt(check.id);
  const isFollowed = followedAt !== null;
  let news: StoredCauseEvent;
  if (alert.notice === 'failure' && reminder === 0) {
    const fact = await factOf(repositories, routed);
    const { own: incident, ruleIds } = await askedBy(repositories, check);
    const isAlone = channelIds.length === 0 && incident === null && ruleIds.length === 0;
    if (
      !fact ||
      (!isFollowed && (isAlone || !(await repositories.alertCauses.hasCompany(check.accountId, fact))))
    ) {
      return { isGrouped: false, channels };
    }
    news = { kind: 'failure', fact, incident, ruleIds, ...base };
  } else if (!isFollowed) {
    return { isGrouped: false, channels };
  } else if (alert.notice === 'recovery') {
    news = { kind: 'recovery', checkId: check.id, ...base };
  } else {
    news = { kind: 'aside', checkId: check.id, isReminder: reminder > 0, ...base };
  }
  await addNews(repositories, check, news, { now, followedAt });
  return { isGrouped: true, channels: rest };
}

/** Notifies the cause of a check that the check passes again although no channel may be notified. */
export async function recoverByCause(repositories: Repositories, check: Check, now: number): Promise<void> {
  const followedAt = await repositories.alertCauses.followedAt(check.id);
  if (followedAt === null) return;
  const news: StoredCauseEvent = { kind: 'recovery', checkId: check.id, alertId: null, channelIds: [] };
  await addNews(repositories, check, news, { now, followedAt });
}

async function addNews(
  repositories: Pick<Repositories, 'alertCauses'>,
  check: Pick<Check, 'id' | 'accountId'>,
  news: StoredCauseEvent,
  { now, followedAt }: { readonly now: number; readonly followedAt: number | null },
): Promise<void> {
  await repositories.alertCauses.addNews({
    account_id: check.accountId,
    check_id: check.id,
    content: JSON.stringify(news),
    created: now,
    due: followedAt === null ? now + holdMs : Math.max(now, followedAt),
  });
}

async function factOf(
  repositories: Pick<Repositories, 'alertCauses'>,
  { check, result, since }: AlertToRoute,
): Promise<FailingCheck | undefined> {
  // If a location that passed reported last, the evidence of the others is unknown.
  if (result?.has_failures !== 1) return undefined;
  const parents = await repositories.alertCauses.parentsOf([check.id]);
  const isScheduled = !findCheckType(check.checkType)?.pings;
  return {
    ...evidenceOf(result, hostOfCheck(check)),
    checkId: check.id,
    name: check.name,
    since,
    slotAt: result.slot_at,
    intervalMs: isScheduled ? intervalOf(check, since) : unscheduledIntervalMs,
    parentIds: parents.get(check.id) ?? [],
    failedAt: [result.run_location],
    passedAt: [],
  };
}

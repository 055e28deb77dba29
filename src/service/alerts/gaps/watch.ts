import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { restsUntil } from '../../checks/timing/slot-state.ts';
import { locationsOf } from '../../checks/timing/slots.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import { type AlertFacts, factsOf } from '../facts.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { alertId, storeAlert, storedFacts } from '../raise.ts';
import type { AlertRow, AlertSuppression } from '../tables.ts';
import {
  type GapReason,
  gapText,
  isDue,
  type Miss,
  mayBeAwayUntil,
  opensAt,
  type Unmeasured,
  withMiss,
} from './gap.ts';
import { notifyOfGapEnd } from './recovery.ts';
import type { GroupKey } from './store.ts';

const gapsPerTurn = 200;
/** How often a gap of a muted check is examined: no time is known at which the mute ends. */
const mutedLookMs = 5 * 60_000;
/** Number of check names in a notification; further checks are only counted. */
export const namesShown = 20;

/** A measured slot of one check at one location. */
export interface Measured {
  readonly checkId: string;
  readonly location: string;
  readonly slotAt: number;
}

/**
 * Records slots that were not measured, and opens the gaps that follow. Runs in the transaction that ended the slots.
 *
 * @returns whether there are notifications to send.
 */
export async function recordMissed(
  repositories: Repositories,
  all: readonly Miss[],
  now: number,
): Promise<boolean> {
  if (all.length === 0) return false;
  const trouble = await troubleAt(repositories, all, now);
  const misses = all.filter((miss) => !isExplained(miss, trouble));
  const known = new Map((await repositories.gaps.lock(misses.map(({ checkId }) => checkId))).map(keyed));
  const fresh = misses.filter((miss) => !known.has(keyOf(miss)));
  const from = leastOf(fresh.map(({ slotAt }) => slotAt));
  const measured = new Map((await repositories.gaps.lastMeasured(fresh, from)).map(keyed));
  const missed = new Set(misses.map((miss) => `${keyOf(miss)} ${miss.slotAt}`));
  const changed = new Map<string, Unmeasured>();
  for (const miss of misses) {
    const key = keyOf(miss);
    // A slot that waited until it was missed may precede one that was measured.
    const last = measured.get(key)?.at ?? Number.NEGATIVE_INFINITY;
    if (last > miss.slotAt && !missed.has(`${key} ${last}`)) continue;
    changed.set(key, withMiss(changed.get(key) ?? known.get(key), miss));
  }
  const gaps = [...changed.values()];
  const policies = await alertPolicies(
    repositories,
    gaps.flatMap(({ checkId, openedAt }) => (openedAt === null ? [checkId] : [])),
    now,
  );
  let hasNews = false;
  for (const gap of gaps) {
    const policy = policies.get(gap.checkId);
    if (gap.openedAt !== null) await repositories.gaps.save(gap);
    else if (policy) hasNews = (await judge(repositories, gap, { policy, now })) || hasNews;
  }
  return hasNews;
}

/** Ends the gaps of measured slots. Runs in the transaction that stored the results. */
export async function recordMeasured(
  repositories: Repositories,
  measured: readonly Measured[],
  now: number,
): Promise<boolean> {
  const gaps = await repositories.gaps.lock(measured.map(({ checkId }) => checkId));
  if (gaps.length === 0) return false;
  const last = new Map<string, number>();
  for (const one of measured) last.set(keyOf(one), Math.max(one.slotAt, last.get(keyOf(one)) ?? 0));
  const over = gaps.filter((gap) => (last.get(keyOf(gap)) ?? Number.NEGATIVE_INFINITY) >= gap.since);
  return end(repositories, over, now);
}

/** Processes gaps that time alone has made due: those that are long enough, and those whose silence has ended. */
export async function openDueGaps(repositories: Repositories, now: number): Promise<boolean> {
  const due = await repositories.gaps.due(now, gapsPerTurn);
  const trouble = await troubleAt(repositories, due, now);
  const policies = await alertPolicies(
    repositories,
    due.map(({ checkId }) => checkId),
    now,
  );
  let hasNews = false;
  for (const gap of due) {
    const policy = policies.get(gap.checkId);
    // The alert of the location reports it.
    if (!policy || isExplained(gap, trouble)) await repositories.gaps.delete(gap);
    else hasNews = (await judge(repositories, { ...gap, nextAt: null }, { policy, now })) || hasNews;
  }
  return hasNews;
}

/** Ends the gaps of checks that are deleted, deactivated, or no longer run there. Covers all gaps, page by page. */
export async function forgetOrphans(
  repositories: Repositories,
  after: Pick<Unmeasured, 'checkId' | 'location'>,
  now: number,
): Promise<{ readonly last: Unmeasured | undefined; readonly hasNews: boolean }> {
  const gaps = await repositories.gaps.behind(after, gapsPerTurn);
  const policies = await alertPolicies(
    repositories,
    gaps.map(({ checkId }) => checkId),
    now,
  );
  const orphans = gaps.filter(({ checkId, location }) => {
    const policy = policies.get(checkId);
    return !policy || !locationsOf(policy.check.definition).includes(location);
  });
  const hasNews = await end(repositories, orphans, now);
  return { last: gaps.length === gapsPerTurn ? gaps.at(-1) : undefined, hasNews };
}

/** Private locations whose own alerts report trouble. */
interface Trouble {
  readonly away: ReadonlySet<string>;
  readonly sick: ReadonlySet<string>;
}

async function troubleAt(
  repositories: Pick<Repositories, 'locationEvents' | 'locations'>,
  places: readonly Pick<Miss, 'locationId'>[],
  now: number,
): Promise<Trouble> {
  const ids = places.flatMap(({ locationId }) => locationId ?? []);
  const away = await repositories.locations.awayAmong(ids);
  return { away, sick: await repositories.locationEvents.unhealthyAmong(ids, now) };
}

/** How runs end that were in flight when the last agent of a location left, and those that follow. */
export const absenceReasons: readonly GapReason[] = ['no-agent', 'expired', 'agent-lost', 'over-capacity'];

/** Whether an alert of the location explains why it was not measured. */
function isExplained({ locationId, reason }: Pick<Miss, 'locationId' | 'reason'>, trouble: Trouble): boolean {
  if (locationId === null) return false;
  if (reason === 'error') return trouble.sick.has(locationId);
  return absenceReasons.includes(reason) && trouble.away.has(locationId);
}

/** Stores a gap that is not open yet, and opens it if it is long enough and nothing holds it back. */
async function judge(
  repositories: Repositories,
  gap: Unmeasured,
  context: { readonly policy: AlertPolicy; readonly now: number },
): Promise<boolean> {
  const { policy, now } = context;
  const { settings } = policy;
  if (!isDue(gap, settings, now)) {
    const nextAt = settings.monitoringGap.enabled ? opensAt(gap, settings) : null;
    await repositories.gaps.save({ ...gap, nextAt });
    return false;
  }
  const dueAgainAt = restsUntil(policy.check.slots, now);
  if (dueAgainAt !== null) {
    await repositories.gaps.save({ ...gap, nextAt: dueAgainAt });
    return false;
  }
  const awayUntil = mayBeAwayUntil(gap);
  if (awayUntil !== null && awayUntil > now) {
    await repositories.gaps.save({ ...gap, nextAt: awayUntil });
    return false;
  }
  const withheld = policy.withheldAt([gap.location]);
  if (withheld) {
    const { by, until, silenceId } = withheld;
    await repositories.gaps.save({ ...gap, nextAt: until ?? now + mutedLookMs });
    await keep(repositories, alertOf(gap, context, { silenceId }), by);
    return false;
  }
  await repositories.gaps.save({ ...gap, nextAt: null, openedAt: now });
  return join(repositories, gap, context);
}

/** Notifies those channels of a check of its gap that were not yet notified of its group. */
async function join(
  repositories: Repositories,
  gap: Unmeasured,
  context: { readonly policy: AlertPolicy; readonly now: number },
): Promise<boolean> {
  const { policy } = context;
  const own = alertOf(gap, context);
  const { group, isNew } = await repositories.gaps.group({
    account_id: gap.accountId,
    location: gap.location,
    cause: gap.cause,
    id: own.id,
    check_id: gap.checkId,
    since: gap.since,
  });
  const channels = await repositories.alertChannels.notifiedOfCheck(gap.checkId, policy.groupId);
  const facts = storedFacts(own);
  const wanting = channels.filter((channel) =>
    wantsNotice(channel.definition as StoredChannel, 'gap', facts),
  );
  if (isNew) {
    await storeAlert(repositories, own, wanting);
    return true;
  }
  await keep(repositories, own, 'same-cause');
  const first = (await repositories.alerts.findMany([group.id])).get(group.id);
  if (!first) return false;
  const whole = await withMembers(repositories, gap, first);
  await repositories.alerts.setFacts(group.id, whole.facts);
  await storeAlert(repositories, whole, wanting);
  return true;
}

/** The alert of a group with its current checks. */
async function withMembers(repositories: Repositories, key: GroupKey, alert: AlertRow): Promise<AlertRow> {
  const ids = await repositories.gaps.members(key);
  const shown = ids.slice(0, namesShown);
  const checks = await repositories.checks.findMany(shown);
  const names = shown.flatMap((id) => checks.get(id)?.name ?? []);
  const facts: AlertFacts = { ...storedFacts(alert), members: { count: ids.length, names } };
  return { ...alert, facts: JSON.stringify(facts) };
}

/** Deletes gaps and notifies of the groups that end with them. */
async function end(repositories: Repositories, gaps: readonly Unmeasured[], now: number): Promise<boolean> {
  for (const gap of gaps) await repositories.gaps.delete(gap);
  const opened = gaps.filter(({ openedAt }) => openedAt !== null);
  const keys = new Map(opened.map((gap) => [JSON.stringify([gap.accountId, gap.location, gap.cause]), gap]));
  let hasNews = false;
  for (const [, key] of [...keys].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const group = await repositories.gaps.endGroup(key);
    if (group) hasNews = (await notifyOfGapEnd(repositories, { groupId: group.id, now })) || hasNews;
  }
  return hasNews;
}

function alertOf(
  gap: Unmeasured,
  { policy, now }: { readonly policy: AlertPolicy; readonly now: number },
  extra: Partial<AlertFacts> = {},
): AlertRow {
  const facts: AlertFacts = {
    ...factsOf(policy.check, undefined, { groupName: policy.groupName, since: gap.since }),
    ...extra,
    subject: 'gap',
    runLocation: gap.location,
    error: gapText(gap),
    members: { count: 1, names: [policy.check.name] },
  };
  return {
    id: alertId(gap.checkId, gap.location, 'gap', String(gap.since)),
    account_id: gap.accountId,
    check_id: gap.checkId,
    alert_type: 'ALERT_GAP',
    notice: 'gap',
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}

/** Stores an alert without a notification. */
async function keep(repositories: Repositories, alert: AlertRow, by: AlertSuppression): Promise<void> {
  await repositories.alerts.insert([{ ...alert, id: alertId(alert.id, by), suppressed_by: by }]);
}

function keyOf({ checkId, location }: Pick<Miss, 'checkId' | 'location'>): string {
  return `${checkId} ${location}`;
}

function keyed<One extends Pick<Miss, 'checkId' | 'location'>>(one: One): [string, One] {
  return [keyOf(one), one];
}

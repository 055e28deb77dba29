import { findChannelKind } from '@picket/channels/index.ts';
import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { RunRow } from '../../runs/tables.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import { type AlertFacts, factsOf } from '../facts.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { alertId, storeAlert, storedFacts } from '../raise.ts';
import type { AlertRow } from '../tables.ts';
import { notifyOfGapEnd } from './recovery.ts';
import { namesShown } from './watch.ts';

/**
 * Periods in which the service itself was away. On its return it records the slots that passed; those of an account
 * form one gap, and each channel is notified of it once. The gap is already over by then, so only receivers that keep
 * an incident open also get its end.
 */

/** A record of slots that passed while the service was away. */
export type AgentlessRun = Pick<RunRow, 'account_id' | 'check_id' | 'slot_at' | 'slot_count'>;

/** Slots recorded within this time belong to one absence: thousands of checks take some seconds. */
const recordedWithinMs = 60_000;
const minuteMs = 60_000;
export const agentlessCause = 'service-away';
/** No particular location: nothing was measured anywhere. */
const everywhere = '';

/**
 * Records slots that passed while the service was away, in the transaction that stores them. Checks that missed less
 * than a gap by their settings do not count.
 *
 * @returns whether there are notifications to send.
 */
export async function recordAgentless(
  repositories: Repositories,
  missed: readonly AgentlessRun[],
  now: number,
): Promise<boolean> {
  const ids = [...new Set(missed.map((run) => run.check_id))];
  if (ids.length === 0) return false;
  const policies = await alertPolicies(repositories, ids, now);
  const counted = missed.filter((run) => {
    const policy = policies.get(run.check_id);
    return policy && isHeard(policy) && isLong(run, policy, now);
  });
  let hasNews = false;
  for (const [accountId, runs] of Map.groupBy(counted, (run) => run.account_id)) {
    const own = new Set(runs.map((run) => run.check_id));
    const ofAccount = [...own].flatMap((id) => policies.get(id) ?? []);
    hasNews = (await join(repositories, { accountId, runs, policies: ofAccount, now })) || hasNews;
  }
  return hasNews;
}

/** Ends absences that are completely recorded. */
export async function endAbsences(repositories: Repositories, now: number): Promise<boolean> {
  let hasNews = false;
  for (const group of await repositories.gaps.groupsOf(agentlessCause)) {
    const begin = (await repositories.alerts.findMany([group.id])).get(group.id);
    if (begin && now - begin.created < recordedWithinMs && now >= begin.created) continue;
    const ended = await repositories.gaps.endGroup({ ...group, accountId: group.account_id });
    if (!begin || !ended) continue;
    const isNews = await notifyOfGapEnd(repositories, {
      ...{ groupId: group.id, now },
      // The gap was over when its channels were notified: only incidents at receivers are still open.
      isNotified: ({ type }) => findChannelKind(type)?.keepsIncidents === true,
    });
    hasNews ||= isNews;
  }
  return hasNews;
}

function isHeard({ withheldAt }: AlertPolicy): boolean {
  return withheldAt([]) === null;
}

function isLong(run: AgentlessRun, { settings: { monitoringGap } }: AlertPolicy, now: number): boolean {
  const { enabled, slots, minutes } = monitoringGap;
  return enabled && (run.slot_count >= slots || now - run.slot_at >= minutes * minuteMs);
}

interface Absence {
  readonly accountId: string;
  readonly runs: readonly AgentlessRun[];
  /** Policies of the checks, each once. */
  readonly policies: readonly AlertPolicy[];
  readonly now: number;
}

async function join(repositories: Repositories, absence: Absence): Promise<boolean> {
  const { accountId, policies } = absence;
  const [first, ...others] = policies.map((policy) => alertOf(policy, absence));
  if (!first) return false;
  const since = leastOf(absence.runs.map((run) => run.slot_at));
  const place = { account_id: accountId, location: everywhere, cause: agentlessCause };
  const { group, isNew } = await repositories.gaps.group({
    ...place,
    id: first.id,
    check_id: first.check_id,
    since,
  });
  const begin = isNew ? first : (await repositories.alerts.findMany([group.id])).get(group.id);
  if (!begin) return false;
  const facts = storedFacts(begin);
  const known = isNew ? { count: 0, names: [] } : (facts.members ?? { count: 0, names: [] });
  const names = [...known.names, ...policies.map(({ check }) => check.name)].slice(0, namesShown);
  const members = { count: known.count + policies.length, names };
  const whole: AlertRow = { ...begin, facts: JSON.stringify({ ...facts, members }) };
  if (!isNew) await repositories.alerts.setFacts(group.id, whole.facts);
  const subscribers = policies.map(({ check, groupId }) => ({ checkId: check.id, groupId }));
  const channels = (await repositories.alertChannels.notifiedOfChecks(subscribers)).filter((channel) =>
    wantsNotice(channel.definition as StoredChannel, 'gap', facts),
  );
  await storeAlert(repositories, whole, channels);
  await repositories.alerts.insert(
    (isNew ? others : [first, ...others]).map((alert) => ({ ...alert, suppressed_by: 'same-cause' })),
  );
  return channels.length > 0;
}

function alertOf({ check, groupName }: AlertPolicy, { runs, now }: Absence): AlertRow {
  const own = runs.filter((run) => run.check_id === check.id);
  const since = leastOf(own.map((run) => run.slot_at));
  const facts: AlertFacts = {
    ...factsOf(check, undefined, { groupName, since }),
    subject: 'gap',
    owner: 'service',
    error: `Not measured from ${iso(since)} to ${iso(now)}: the service was not running. Look at its log and its host; on PostgreSQL, a second service process takes over when one stops.`,
  };
  return {
    id: alertId(check.id, agentlessCause, String(since)),
    account_id: check.accountId,
    check_id: check.id,
    alert_type: 'ALERT_GAP',
    notice: 'gap',
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}

const iso = (epochMs: number) => new Date(epochMs).toISOString();

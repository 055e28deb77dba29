import { daysLeft } from '@picket/lib/figures/days-left.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { type StoredChannel, wantsNotice } from '../channels/rules.ts';
import type { AlertChannel } from '../channels/store.ts';
import { type AlertFacts, certificateDomain, factsOf } from '../facts.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { alertId, storeAlert } from '../raise.ts';
import type { ExpiringCertificate } from '../store.ts';
import type { AlertRow } from '../tables.ts';
import { hostOfCertificate } from './shown-host.ts';
import { certificateStage } from './stage.ts';

/** Number of check names in a notification; further checks are only counted. */
const namesShown = 20;

/** Channels of a check that are due a notice about its certificate. */
interface DueNotice {
  readonly policy: AlertPolicy;
  readonly expiresAt: number;
  readonly stage: number;
  readonly facts: AlertFacts;
  readonly channels: readonly AlertChannel[];
}

/**
 * Stores the notifications about the given certificates; those already stored are not stored again. Certificates that
 * expire at the same instant are treated as one: each channel is notified once, with the checks that see it. Channels
 * that do not group get one notification per check.
 *
 * @returns whether there are notifications to send.
 */
export async function notifyOfCertificates(
  repositories: Repositories,
  certificates: readonly ExpiringCertificate[],
  now: number,
): Promise<boolean> {
  const ids = certificates.map(({ checkId }) => checkId);
  const policies = await alertPolicies(repositories, ids, now);
  const due: DueNotice[] = [];
  for (const { checkId, expiresAt } of certificates) {
    const policy = policies.get(checkId);
    // A notice that is held back is not lost: certificates are examined every hour.
    if (policy?.withheldAt([]) === null) due.push(...(await dueOf(repositories, policy, expiresAt, now)));
  }
  let hasNews = false;
  const groups = Map.groupBy(due, ({ policy, expiresAt, stage }) =>
    alertId(policy.check.accountId, 'ssl', String(expiresAt), String(stage)),
  );
  for (const [id, notices] of groups) {
    hasNews = (await notifyOfGroup(repositories, id, notices, now)) || hasNews;
  }
  return hasNews;
}

async function dueOf(
  repositories: Pick<Repositories, 'alertChannels' | 'results'>,
  policy: AlertPolicy,
  expiresAt: number,
  now: number,
): Promise<DueNotice[]> {
  const { check, groupId, groupName } = policy;
  const daysRemaining = daysLeft(expiresAt, now);
  const host = await hostOfCertificate(repositories, check.id, expiresAt, now);
  const certificate = { domain: host ?? certificateDomain(check), daysRemaining, expiresAt };
  const facts = factsOf(check, undefined, { groupName, certificate });
  const channels = await repositories.alertChannels.notifiedOfCheck(check.id, groupId);
  const byStage = Map.groupBy(channels, (channel) => {
    const definition = channel.definition as StoredChannel;
    return wantsNotice(definition, 'ssl', facts)
      ? certificateStage(daysRemaining, definition.sslExpiryThreshold)
      : null;
  });
  return [...byStage].flatMap(([stage, notified]) =>
    stage === null ? [] : [{ policy, expiresAt, stage, facts, channels: notified }],
  );
}

async function notifyOfGroup(
  repositories: Pick<Repositories, 'alertChannels' | 'alerts' | 'notifications'>,
  id: string,
  due: readonly DueNotice[],
  now: number,
): Promise<boolean> {
  const notices = due.toSorted((one, other) =>
    one.policy.check.name.localeCompare(other.policy.check.name, 'en'),
  );
  const [first] = notices;
  if (!first) return false;
  if (notices.length === 1) return storeAlert(repositories, alertOf(first, now), first.channels);
  let hasNews = false;
  const told = new Set<number>();
  for (const notice of notices) {
    const known = await repositories.alertChannels.notifiedOfAlert(alertOf(notice, now).id);
    for (const channel of known) told.add(channel.id);
  }
  const grouping = new Map<number, AlertChannel>();
  for (const notice of notices) {
    const own = alertOf(notice, now);
    const alone = notice.channels.filter(({ definition }) => !isGrouping(definition));
    if (alone.length > 0) hasNews = (await storeAlert(repositories, own, alone)) || hasNews;
    else await repositories.alerts.insert([{ ...own, suppressed_by: 'same-cause' }]);
    for (const channel of notice.channels) {
      if (isGrouping(channel.definition) && !told.has(channel.id)) grouping.set(channel.id, channel);
    }
  }
  if (grouping.size === 0) return hasNews;
  const names = notices.map(({ policy }) => policy.check.name);
  const members = { count: names.length, names: names.slice(0, namesShown) };
  const whole = { ...alertOf(first, now), id, facts: JSON.stringify({ ...first.facts, members }) };
  return (await storeAlert(repositories, whole, [...grouping.values()])) || hasNews;
}

function isGrouping(definition: AlertChannel['definition']): boolean {
  return (definition as StoredChannel).groupByCause !== false;
}

function alertOf({ policy: { check }, expiresAt, stage, facts }: DueNotice, now: number): AlertRow {
  return {
    id: alertId(check.id, 'ssl', String(expiresAt), String(stage)),
    account_id: check.accountId,
    check_id: check.id,
    alert_type: 'ALERT_SSL',
    notice: 'ssl',
    result_id: null,
    facts: JSON.stringify(facts),
    created: now,
  };
}

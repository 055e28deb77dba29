import type { Clock } from '../../lib/clock.ts';
import type { Repositories, Store } from '../store.ts';
import { type StoredChannel, wantsNotice } from './channels/rules.ts';
import { certificateDomain, factsOf } from './facts.ts';
import { forgetOrphans, openDueGaps } from './gaps/watch.ts';
import { alertPolicies } from './policy.ts';
import { alertId, raiseDueAlerts, storeAlert } from './raise.ts';
import type { ExpiringCertificate } from './store.ts';

const statesPerTurn = 100;
const certificatesPerTurn = 200;
const certificatesEveryMs = 3_600_000;
const orphansEveryMs = 60_000;
const dayMs = 86_400_000;
/** The earliest that a channel can be notified before a certificate expires. */
const longestNoticeMs = 30 * dayMs;
/** How long after its end a certificate is still notified. */
const notifyExpiredMs = 2 * dayMs;
/** Days before the end at which a channel is reminded; -1 is after it. */
const remindedAtDays = [7, 3, 1, 0, -1];

type GapPlace = { readonly checkId: string; readonly location: string };

/**
 * Makes the alerts that time alone brings: escalations after a number of minutes, reminders, gaps, and once an hour
 * certificates that are about to expire. Any process does the former, passing over what another one has
 * locked; the leader does the latter.
 */
export class AlertTimers {
  readonly #store: Store;
  readonly #clock: Clock;
  #certificatesAtMs: number | undefined;
  #orphansAtMs: number | undefined;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  async turn(): Promise<number | null> {
    await this.#notifyOfCertificates();
    await this.#forgetOrphans();
    const dueAt = await this.#nextDueAt();
    const now = this.#clock.wallMs();
    if (dueAt === null || dueAt > now) return dueAt;
    const { hasNews } = await this.#store.transaction(async (repositories) => {
      const due = await repositories.alerts.dueStates(now, statesPerTurn);
      const isRaised = await raiseDueAlerts(repositories, due, now);
      return { hasNews: (await openDueGaps(repositories, now)) || isRaised };
    });
    if (hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
    return this.#nextDueAt();
  }

  async #nextDueAt(): Promise<number | null> {
    const times = [await this.#store.alerts.nextDueAt(), await this.#store.gaps.nextDueAt()];
    const known = times.filter((at) => at !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  async #forgetOrphans(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#orphansAtMs !== undefined && nowMs - this.#orphansAtMs < orphansEveryMs) return;
    if (!(await this.#store.isLeader())) return;
    this.#orphansAtMs = nowMs;
    let after: GapPlace | undefined = { checkId: '', location: '' };
    while (after) {
      const from: GapPlace = after;
      const { last, hasNews } = await this.#store.transaction((repositories) =>
        forgetOrphans(repositories, from, this.#clock.wallMs()),
      );
      if (hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
      after = last;
    }
  }

  async #notifyOfCertificates(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#certificatesAtMs;
    if (last !== undefined && nowMs - last < certificatesEveryMs) return;
    if (!(await this.#store.isLeader())) return;
    const now = this.#clock.wallMs();
    let after: ExpiringCertificate | undefined = { checkId: '', expiresAt: now - notifyExpiredMs };
    let hasNews = false;
    while (after) {
      const page: ExpiringCertificate[] = await this.#store.alerts.expiring(
        now + longestNoticeMs + dayMs,
        after,
        certificatesPerTurn,
      );
      const isNotified = await this.#store.transaction((repositories) =>
        notifyOfCertificates(repositories, page, now),
      );
      hasNews ||= isNotified;
      after = page.length === certificatesPerTurn ? page.at(-1) : undefined;
    }
    this.#certificatesAtMs = nowMs;
    if (hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
  }
}

/** Stores the notifications about some certificates; those stored before are not stored again. */
async function notifyOfCertificates(
  repositories: Repositories,
  certificates: readonly ExpiringCertificate[],
  now: number,
): Promise<boolean> {
  const ids = certificates.map(({ checkId }) => checkId);
  const policies = await alertPolicies(repositories, ids, now);
  let hasNews = false;
  for (const { checkId, expiresAt } of certificates) {
    const policy = policies.get(checkId);
    if (!policy || policy.suppressedBy !== null) continue;
    const { check, groupId, groupName } = policy;
    const daysRemaining = Math.floor((expiresAt - now) / dayMs);
    const certificate = { domain: certificateDomain(check), daysRemaining, expiresAt };
    const facts = factsOf(check, undefined, { groupName, certificate });
    const channels = await repositories.alertChannels.notifiedOfCheck(checkId, groupId);
    const byStage = Map.groupBy(channels, (channel) => {
      const definition = channel.definition as StoredChannel;
      return wantsNotice(definition, 'ssl', facts)
        ? certificateStage(daysRemaining, definition.sslExpiryThreshold)
        : null;
    });
    for (const [stage, notified] of byStage) {
      if (stage === null) continue;
      const isNew = await storeAlert(
        repositories,
        {
          id: alertId(checkId, 'ssl', String(expiresAt), String(stage)),
          account_id: check.accountId,
          check_id: checkId,
          alert_type: 'ALERT_SSL',
          notice: 'ssl',
          result_id: null,
          facts: JSON.stringify(facts),
          created: now,
        },
        notified,
      );
      hasNews ||= isNew;
    }
  }
  return hasNews;
}

/**
 * Which of its notices of a certificate a channel is due: at its own threshold, then at fewer days; null
 * before all of them.
 */
export function certificateStage(daysRemaining: number, thresholdDays: number): number | null {
  if (daysRemaining > thresholdDays) return null;
  const stages = [thresholdDays, ...remindedAtDays.filter((days) => days < thresholdDays)];
  // After the end every day counts as the last stage.
  return stages.filter((days) => Math.max(daysRemaining, -1) <= days).at(-1) ?? null;
}

import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { Clock } from '@picket/lib/clock.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { notifyOfCertificates } from './certificates/notify.ts';
import { agentlessCause, endAbsences } from './gaps/agentless.ts';
import { forgetOrphans, openDueGaps } from './gaps/watch.ts';
import { releaseHeld } from './location-alerts.ts';
import { raiseDueAlerts } from './raise.ts';
import { closeLost } from './receivers/close-lost.ts';
import type { ExpiringCertificate } from './store.ts';

const statesPerTurn = 100;
const certificatesPerTurn = 200;
const certificatesEveryMs = 3_600_000;
const orphansEveryMs = 60_000;
const dayMs = 86_400_000;
/** Earliest time before expiry at which a channel can be notified of a certificate. */
const longestNoticeMs = 30 * dayMs;
/** How long after its expiry a certificate is still notified. */
const notifyExpiredMs = 2 * dayMs;

type GapPlace = { readonly checkId: string; readonly location: string };

/**
 * Raises alerts that time alone brings: escalations after a number of minutes, reminders, gaps, held alerts, ends of
 * incidents at receivers whose grounds are gone, and once an hour certificates that are about to expire. Any process
 * does the former, skipping rows locked by another; the leader does the latter.
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
    await this.#endAbsences();
    const dueAt = await this.#nextDueAt();
    const now = this.#clock.wallMs();
    if (dueAt === null || dueAt > now) return dueAt;
    const { hasNews } = await this.#store.transaction(async (repositories) => {
      const due = await repositories.alerts.dueStates(now, statesPerTurn);
      const isRaised = await raiseDueAlerts(repositories, due, now);
      const isReleased = await releaseHeld(repositories, now);
      const isOpened = await openDueGaps(repositories, now);
      // Last: news that the others send may end an incident by itself.
      const isClosed = await closeLost(repositories, now);
      return { hasNews: isRaised || isReleased || isOpened || isClosed };
    });
    if (hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
    return this.#nextDueAt();
  }

  async #nextDueAt(): Promise<number | null> {
    const { alerts, gaps, receiverIncidents } = this.#store;
    const times = [
      await alerts.nextDueAt(),
      await alerts.nextHeldAt(),
      await gaps.nextDueAt(),
      await receiverIncidents.nextDueAt(),
    ];
    const known = times.filter((at) => at !== null);
    return known.length === 0 ? null : leastOf(known);
  }

  async #endAbsences(): Promise<void> {
    // Reads first, so that an idle service opens no write transactions.
    if ((await this.#store.gaps.groupsOf(agentlessCause)).length === 0) return;
    const now = this.#clock.wallMs();
    const hasNews = await this.#store.transaction((repositories) => endAbsences(repositories, now));
    if (hasNews) this.#store.signals.send([{ kind: 'alerts' }]);
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

import { randomUUID } from 'node:crypto';
import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { RequestedIncident } from '../../incidents/requested-incident.ts';
import { isCalm, leavesAt, notifyChannels, notifyOfMove, presentMembers } from './channel-notices.ts';
import type { CauseContext, FailingCheck } from './failing-check.ts';
import { causes } from './grouping/causes.ts';
import type {
  CauseEvent,
  CauseIncident,
  CauseMember,
  CauseNotice,
  LifecycleStep,
  Notified,
  OpenCause,
} from './open-cause.ts';

/**
 * The lifecycle of causes: how events of checks (a failure, a reminder, a recovery) change them.
 *
 * A check that starts to fail is held for a moment (see `holdMs`) so that checks that fail together are notified
 * together. It is then grouped with everything else that fails, and joins the open cause of its group or opens a new
 * one. Each channel of a member is notified of a cause by the first member that concerns it. Members that join later,
 * and members that recover while others still fail, are reported by name (see channel-notices.ts). A channel is
 * notified once when all members that concern it have recovered; the cause is over when all members have. A cause whose
 * members fail at one location only, while their slots pass elsewhere, is over when that has lasted for two intervals:
 * lossy links and half-dead resolvers fail different checks each time.
 *
 * A member that recovers and soon has the same failure again is not news. A member with a different failure is, and so
 * is one that had passed for one of its intervals: by then it has left the cause. When a member recovers, members that
 * run seldom are run at once: otherwise nothing shows whether they still fail until their next run.
 *
 * Channels already know of a location that its agents report as unhealthy: such a cause notifies no channel. Checks
 * that still fail when the location has been healthy for two intervals are treated as new failures.
 */

/** Checks that run at least this often are not run ahead of time. */
const oftenMs = 60_000;
/** A check is run ahead of time at most once in this period. */
const hurriedOnceInMs = 5 * 60_000;
/** Bounds the load on a target that has just recovered. */
const maxHurried = 20;
const shortestCalmMs = 60_000;

/** Applies news, in order, to the open causes of an account. */
export function advanceCauses(
  open: readonly OpenCause[],
  news: readonly CauseEvent[],
  {
    now,
    context,
    newId,
  }: { readonly now: number; readonly context: CauseContext; readonly newId: () => string },
): LifecycleStep {
  const lifecycle = new CauseLifecycle(open, now);
  for (const one of news) lifecycle.apply(one);
  lifecycle.lookAtLocations(context);
  lifecycle.group(context, newId);
  lifecycle.notifyChannels(context);
  lifecycle.closeAndLeave();
  lifecycle.resolveIncidents();
  lifecycle.hurry();
  return lifecycle;
}

type FreshMember = CauseMember & { readonly isDue: boolean };

class CauseLifecycle implements LifecycleStep {
  readonly notices: CauseNotice[] = [];
  readonly #causes = new Map<string, OpenCause>();
  readonly #before: ReadonlyMap<string, OpenCause>;
  readonly #now: number;
  readonly incidents: { kind: 'open' | 'resolve'; incident: CauseIncident }[] = [];
  readonly held = new Set<string>();
  readonly hurried: string[] = [];
  /** Causes with a member that has just recovered. */
  readonly #improved = new Set<string>();
  #fresh: FreshMember[] = [];

  constructor(open: readonly OpenCause[], now: number) {
    this.#now = now;
    this.#before = new Map(open.map((cause) => [cause.id, cause]));
    for (const cause of open) this.#causes.set(cause.id, cause);
  }

  get changed(): OpenCause[] {
    return [...this.#causes.values()].filter((cause) => this.#before.get(cause.id) !== cause);
  }

  apply(news: CauseEvent): void {
    const checkId = news.kind === 'failure' ? news.fact.checkId : news.checkId;
    const cause = this.#causeOf(checkId);
    if (news.kind === 'failure') {
      const { kind: _kind, isDue, ...failed } = news;
      const member: CauseMember = { ...failed, joined: this.#now, recovered: null, recovery: null };
      const known = cause && memberOf(cause, checkId);
      if (cause && known?.recovered === null) {
        // For example from degraded back to failing.
        if (presentMembers(cause).length === 1) this.#pass(cause, { ...news, checkId });
      } else if (cause && known && isSameFailure(known.fact, member.fact)) {
        // The failure that made it a member is kept.
        this.#changeMember(cause, { ...member, fact: known.fact });
        this.#notify(cause.id, checkId);
      } else if (!this.#fresh.some(({ fact }) => fact.checkId === checkId)) {
        // A different failure may have a different cause.
        if (cause && known) this.#changeMember(cause, { ...known, left: this.#now });
        this.#fresh.push({ ...member, isDue });
      }
      return;
    }
    if (news.kind === 'aside') {
      if (cause && (news.isReminder || presentMembers(cause).length === 1)) this.#pass(cause, news);
      return;
    }
    const { alertId, channelIds } = news.kind === 'recovery' ? news : { alertId: null, channelIds: [] };
    const recovery = alertId === null ? null : { alertId, channelIds };
    const ended = <M extends CauseMember>(member: M): M =>
      member.fact.checkId === checkId ? { ...member, recovered: this.#now, recovery } : member;
    if (cause && memberOf(cause, checkId)?.recovered === null && news.kind === 'recovery') {
      this.#improved.add(cause.id);
    }
    for (const member of cause?.members ?? []) if (cause) this.#changeMember(cause, ended(member));
    // It failed and recovered before it was grouped: channels are notified of both.
    this.#fresh = this.#fresh.map(ended);
  }

  /** Treats members as new failures once an unhealthy location no longer explains them. */
  lookAtLocations({ unhealthy }: CauseContext): void {
    for (const cause of this.#open()) {
      if (!cause.isLocationsOwn) continue;
      if (unhealthy.has(cause.evidence)) {
        if (cause.wellSince !== null) this.#set({ ...cause, wellSince: null });
        continue;
      }
      const wellSince = cause.wellSince ?? this.#now;
      const left = cause.members.filter(
        ({ fact, recovered }) =>
          recovered === null && this.#now - wellSince >= Math.max(2 * fact.intervalMs, shortestCalmMs),
      );
      this.#fresh.push(...left.map((member) => ({ ...member, joined: this.#now, isDue: true })));
      const members = cause.members.filter((member) => !left.includes(member));
      this.#set({ ...cause, wellSince, members });
    }
  }

  group(context: CauseContext, newId: () => string): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    if (fresh.length === 0) return;
    const homes = new Map<FailingCheck, OpenCause>();
    for (const cause of this.#open()) for (const { fact } of presentMembers(cause)) homes.set(fact, cause);
    const byFact = new Map(fresh.map((member) => [member.fact, member]));
    for (const group of causes([...homes.keys(), ...byFact.keys()], context)) {
      const joining = group.members.flatMap((fact) => byFact.get(fact) ?? []);
      if (joining.length === 0) continue;
      if (!joining.some(({ isDue }) => isDue)) {
        for (const { fact } of joining) this.held.add(fact.checkId);
        continue;
      }
      const known = new Set(group.members.flatMap((fact) => homes.get(fact) ?? []));
      const { kind, evidence, reason, isLocationsOwn } = group;
      const [oldest] = [...known]
        .filter((one) => one.isLocationsOwn === isLocationsOwn)
        .sort((left, right) => left.opened - right.opened);
      const began = leastOf(group.members.map(({ since }) => since));
      const present = oldest && (this.#causes.get(oldest.id) ?? oldest);
      const isWhole = present && presentMembers(present).every(({ fact }) => group.members.includes(fact));
      const cause: OpenCause = present
        ? { ...present, ...(isWhole ? { kind, evidence, reason } : {}) }
        : {
            ...{ id: newId(), kind, evidence, reason, isLocationsOwn, began, opened: this.#now },
            ...{ members: [], notified: [], incidents: [], wellSince: null, closed: null },
          };
      const members = joining.map(({ isDue: _isDue, ...member }) => member);
      this.#set(withJoining(cause, members));
      for (const { fact } of joining) this.#leaveOthers(cause.id, fact.checkId);
      for (const { fact } of joining) this.#notify(cause.id, fact.checkId);
    }
  }

  /** Ends what other causes reported of a check before it joined this one. */
  #leaveOthers(causeId: string, checkId: string): void {
    for (const cause of this.#open()) {
      if (cause.id === causeId || cause.isLocationsOwn) continue;
      const told = notifyOfMove(cause, checkId, this.#now);
      this.notices.push(...told.notices);
      if (told.cause !== cause) this.#set(told.cause);
    }
  }

  /** Notifies channels of changes to their causes. */
  notifyChannels({ withheld }: CauseContext): void {
    for (const cause of this.#open()) {
      const told = notifyChannels(cause, this.#now, withheld ?? new Set());
      this.notices.push(...told.notices);
      if (told.cause !== cause) this.#set(told.cause);
    }
  }

  /** Closes causes that are over. Members of other causes leave once they have passed for long enough. */
  closeAndLeave(): void {
    for (const cause of this.#open()) {
      if (cause.members.every(({ recovered }) => recovered !== null)) {
        if (isCalm(cause, this.#now)) this.#set({ ...cause, closed: this.#now });
        continue;
      }
      const leaving = presentMembers(cause).filter((one) => (leavesAt(cause, one) ?? Infinity) <= this.#now);
      if (leaving.length === 0) continue;
      const members = cause.members.map((one) => (leaving.includes(one) ? { ...one, left: this.#now } : one));
      this.#set({ ...cause, members });
    }
  }

  /** Requests runs of infrequent checks that share a cause with a member that has just recovered. */
  hurry(): void {
    for (const cause of this.#open()) {
      if (!this.#improved.has(cause.id) || cause.isLocationsOwn) continue;
      const waiting = presentMembers(cause).filter(
        ({ recovered, fact, hurriedAt }) =>
          recovered === null &&
          fact.intervalMs > oftenMs &&
          (hurriedAt === undefined || Math.abs(this.#now - hurriedAt) >= hurriedOnceInMs),
      );
      for (const member of waiting.slice(0, maxHurried)) {
        this.hurried.push(member.fact.checkId);
        this.#changeMember(cause, { ...member, hurriedAt: this.#now });
      }
    }
  }

  /** Notifies the channels of a member that were not notified of its cause, or were notified that it was over. */
  #notify(causeId: string, checkId: string): void {
    const cause = this.#causes.get(causeId);
    const member = cause && memberOf(cause, checkId);
    if (!cause || !member || cause.isLocationsOwn) return;
    this.#openIncidents(cause, member);
    const active = new Set(cause.notified.filter(({ isOver }) => !isOver).map(({ channelId }) => channelId));
    const channelIds = member.channelIds.filter((id) => !active.has(id));
    if (channelIds.length === 0) return;
    const { alertId } = member;
    for (const channelId of channelIds) this.notices.push({ causeId, channelId, checkId, alertId });
    const notified = channelIds.map((channelId): Notified => {
      return { channelId, checkId, isOver: false, told: shownTo(cause, channelId, this.#now), at: this.#now };
    });
    const others = cause.notified.filter(({ channelId }) => !channelIds.includes(channelId));
    this.#set({ ...(this.#causes.get(causeId) ?? cause), notified: [...others, ...notified] });
  }

  #openIncidents(cause: OpenCause, member: CauseMember): void {
    const known = new Set(cause.incidents.map(({ incident }) => subjectOf(incident)));
    const opened = askedOf(member)
      .filter((incident) => !known.has(subjectOf(incident)))
      .map((incident) => ({ triggerId: randomUUID(), checkId: member.fact.checkId, incident }));
    if (opened.length === 0) return;
    for (const incident of opened) this.incidents.push({ kind: 'open', incident });
    this.#set({ ...cause, incidents: [...cause.incidents, ...opened] });
  }

  /** Resolves incidents whose members have all recovered, as soon as the cause is calm. */
  resolveIncidents(): void {
    for (const cause of this.#causes.values()) {
      if (cause.incidents.length === 0 || (cause.closed === null && !isCalm(cause, this.#now))) continue;
      const failing = cause.members.filter(({ recovered }) => recovered === null);
      const asked = new Set(failing.flatMap(askedOf).map(subjectOf));
      const lasting = cause.incidents.filter(({ incident }) => asked.has(subjectOf(incident)));
      if (lasting.length === cause.incidents.length) continue;
      for (const incident of cause.incidents) {
        if (!lasting.includes(incident)) this.incidents.push({ kind: 'resolve', incident });
      }
      this.#set({ ...cause, incidents: lasting });
    }
  }

  /**
   * Forwards news of a cause as a whole: all news of a lone check, and reminders of the first check that still fails.
   */
  #pass(
    cause: OpenCause,
    news: { readonly checkId: string; readonly alertId: string; readonly channelIds: readonly number[] },
  ): void {
    for (const { channelId, checkId, isOver } of cause.notified) {
      if (isOver || !news.channelIds.includes(channelId)) continue;
      const voice = cause.members.find(
        ({ channelIds, recovered }) => recovered === null && channelIds.includes(channelId),
      );
      if (voice?.fact.checkId !== news.checkId) continue;
      this.notices.push({ causeId: cause.id, channelId, checkId, alertId: news.alertId });
    }
  }

  /** Replaces the member of the same check. */
  #changeMember({ id }: OpenCause, changed: CauseMember): void {
    const cause = this.#causes.get(id);
    if (!cause || cause.members.includes(changed)) return;
    const members = cause.members.map((member) =>
      member.fact.checkId === changed.fact.checkId ? { ...changed, joined: member.joined } : member,
    );
    this.#set({ ...cause, members });
  }

  #causeOf(checkId: string): OpenCause | undefined {
    return this.#open().find((cause) => memberOf(cause, checkId) !== undefined);
  }

  #open(): OpenCause[] {
    return [...this.#causes.values()].filter(({ closed }) => closed === null);
  }

  #set(cause: OpenCause): void {
    this.#causes.set(cause.id, cause);
  }
}

/** Incidents that a member requests. */
function askedOf({ incident, ruleIds = [] }: CauseMember): RequestedIncident[] {
  return [...(incident ? [incident] : []), ...ruleIds.map((ruleId) => ({ ruleId }))];
}

/** Identifies the subject of an incident; subjects are unique within a cause. */
function subjectOf(incident: RequestedIncident): string {
  return 'ruleId' in incident ? `rule ${incident.ruleId}` : `service ${incident.serviceId}`;
}

function memberOf(cause: OpenCause, checkId: string): CauseMember | undefined {
  return presentMembers(cause).find(({ fact }) => fact.checkId === checkId);
}

/** Earlier builds stored no code: such failures count as the same. */
function isSameFailure(before: FailingCheck, now: FailingCheck): boolean {
  return before.code == null || now.code == null || before.code === now.code;
}

/** A cause with members that join; a former member that fails again counts as news. */
function withJoining(cause: OpenCause, joining: readonly CauseMember[]): OpenCause {
  const ids = new Set(joining.map(({ fact }) => fact.checkId));
  const notified = cause.notified.map((one) =>
    one.told ? { ...one, told: one.told.filter((id) => !ids.has(id)) } : one,
  );
  const members = cause.members.filter(({ fact }) => !ids.has(fact.checkId));
  return { ...cause, notified, members: [...members, ...joining] };
}

/** Checks that the first message to a channel lists. */
function shownTo({ members }: OpenCause, channelId: number, now: number): string[] {
  return members.flatMap(({ fact, recovered, joined, channelIds }) =>
    (recovered === null || joined === now) && channelIds.includes(channelId) ? [fact.checkId] : [],
  );
}

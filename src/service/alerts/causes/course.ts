import { randomUUID } from 'node:crypto';
import type { AskedIncident, OwnIncident } from '../../incidents/asked.ts';
import { causes } from './causes.ts';
import { type CauseContext, type CauseKind, type FailingCheck, passesElsewhere } from './failing-check.ts';

/**
 * The course of causes: what becomes of the news of checks that fail, are reminded of, and recover.
 *
 * A check that starts to fail is held for a moment (see `holdMs`), so that what fails with it is notified
 * with it. Then it is grouped, with everything else that fails. It joins the open cause of its group, or
 * begins one. Each channel of its members is notified of a cause once: with the first member that concerns
 * it. A member that recovers and fails again while its cause is open is no news. When all members that
 * concern a channel have recovered, the channel is notified so, once; when all have, the cause is over. A
 * cause whose members fail at one location only, while their slots pass elsewhere, is over when that has
 * lasted for two intervals: lossy links and half-dead resolvers fail other checks each time.
 *
 * Of a location that its agents find unhealthy channels know already: such a cause notifies nobody. What
 * still fails when the location has been well for two intervals is taken as new.
 */
export interface OpenCause {
  readonly id: string;
  readonly kind: CauseKind;
  readonly evidence: string;
  readonly reason: string;
  readonly isLocationsOwn: boolean;
  /** When its first member began to fail, in epoch milliseconds. */
  readonly began: number;
  readonly opened: number;
  readonly members: readonly CauseMember[];
  readonly notified: readonly Notified[];
  /** Incidents that its members asked for, one for each service and rule. */
  readonly incidents: readonly CauseIncident[];
  /** When the location was found healthy again, for a cause that it explains. */
  readonly wellSince: number | null;
  readonly closed: number | null;
}

export interface CauseIncident {
  /** The same in the event that opens it and in the one that resolves it. */
  readonly triggerId: string;
  readonly incident: AskedIncident;
  /** The check that asked for it. */
  readonly checkId: string;
}

export interface CauseMember {
  readonly fact: FailingCheck;
  /** The incident of its own that it asks for. */
  readonly incident: OwnIncident | null;
  /** The rules that it fails by; absent in what earlier builds stored. */
  readonly ruleIds?: readonly string[];
  readonly alertId: string;
  /** The channels that hear of this member. */
  readonly channelIds: readonly number[];
  readonly joined: number;
  readonly recovered: number | null;
  /** The alert that says so; null while there is none, and where nobody may be notified of it. */
  readonly recovery: { readonly alertId: string; readonly channelIds: readonly number[] } | null;
}

/** What a channel was notified of a cause. */
export interface Notified {
  readonly channelId: number;
  /** The check that everything notified to this channel is filed under. */
  readonly checkId: string;
  readonly isOver: boolean;
}

/** What happened to a check, in the order it happened. */
export type News =
  | {
      readonly kind: 'failure';
      readonly fact: FailingCheck;
      readonly incident: OwnIncident | null;
      readonly ruleIds?: readonly string[];
      readonly alertId: string;
      readonly channelIds: readonly number[];
      /** Whether it was held for as long as it may be. */
      readonly isDue: boolean;
    }
  | {
      readonly kind: 'recovery';
      readonly checkId: string;
      /** null where nobody may be notified of it. */
      readonly alertId: string | null;
      readonly channelIds: readonly number[];
    }
  /** A reminder, or a change between failing and degraded. */
  | {
      readonly kind: 'aside';
      readonly checkId: string;
      readonly alertId: string;
      readonly isReminder: boolean;
      readonly channelIds: readonly number[];
    }
  /** The check was deleted or switched off. */
  | { readonly kind: 'gone'; readonly checkId: string };

/** A notification to be sent: an alert to a channel, filed under a check. */
export interface CauseNotice {
  readonly causeId: string;
  readonly channelId: number;
  readonly checkId: string;
  readonly alertId: string;
}

export interface CourseStep {
  /** Causes that are new or have changed. */
  readonly changed: readonly OpenCause[];
  readonly notices: readonly CauseNotice[];
  readonly incidents: readonly { readonly kind: 'open' | 'resolve'; readonly incident: CauseIncident }[];
  /** Checks whose news are still held: nothing was done about them. */
  readonly held: ReadonlySet<string>;
}

const shortestCalmMs = 60_000;
const longestCalmMs = 10 * 60_000;

/** What some news, in their order, do to the open causes of an account. */
export function advanceCauses(
  open: readonly OpenCause[],
  news: readonly News[],
  {
    now,
    context,
    newId,
  }: { readonly now: number; readonly context: CauseContext; readonly newId: () => string },
): CourseStep {
  const course = new Course(open, now);
  for (const one of news) course.hear(one);
  course.lookAtLocations(context);
  course.group(context, newId);
  course.recover();
  course.resolveIncidents();
  return course;
}

type FreshMember = CauseMember & { readonly isDue: boolean };

class Course implements CourseStep {
  readonly notices: CauseNotice[] = [];
  readonly #causes = new Map<string, OpenCause>();
  readonly #before: ReadonlyMap<string, OpenCause>;
  readonly #now: number;
  readonly incidents: { kind: 'open' | 'resolve'; incident: CauseIncident }[] = [];
  readonly held = new Set<string>();
  #fresh: FreshMember[] = [];

  constructor(open: readonly OpenCause[], now: number) {
    this.#now = now;
    this.#before = new Map(open.map((cause) => [cause.id, cause]));
    for (const cause of open) this.#causes.set(cause.id, cause);
  }

  get changed(): OpenCause[] {
    return [...this.#causes.values()].filter((cause) => this.#before.get(cause.id) !== cause);
  }

  hear(news: News): void {
    const checkId = news.kind === 'failure' ? news.fact.checkId : news.checkId;
    const cause = this.#causeOf(checkId);
    if (news.kind === 'failure') {
      const { kind: _kind, isDue, ...failed } = news;
      const member: CauseMember = { ...failed, joined: this.#now, recovered: null, recovery: null };
      const known = cause?.members.find(({ fact }) => fact.checkId === checkId);
      if (cause && known?.recovered === null) {
        // Such as from degraded back to failing.
        if (cause.members.length === 1) this.#pass(cause, { ...news, checkId });
      } else if (cause && known) {
        // What it failed by first is what made it a member.
        this.#changeMember(cause, { ...member, fact: known.fact });
        this.#notify(cause.id, checkId);
      } else if (!this.#fresh.some(({ fact }) => fact.checkId === checkId)) {
        this.#fresh.push({ ...member, isDue });
      }
      return;
    }
    if (news.kind === 'aside') {
      if (cause && (news.isReminder || cause.members.length === 1)) this.#pass(cause, news);
      return;
    }
    const { alertId, channelIds } = news.kind === 'recovery' ? news : { alertId: null, channelIds: [] };
    const recovery = alertId === null ? null : { alertId, channelIds };
    const ended = <M extends CauseMember>(member: M): M =>
      member.fact.checkId === checkId ? { ...member, recovered: this.#now, recovery } : member;
    for (const member of cause?.members ?? []) if (cause) this.#changeMember(cause, ended(member));
    // It failed and recovered before it was grouped: both are notified.
    this.#fresh = this.#fresh.map(ended);
  }

  /** Takes up what an unhealthy location does not explain any more. */
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
    for (const cause of this.#open()) for (const { fact } of cause.members) homes.set(fact, cause);
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
      const began = Math.min(...group.members.map(({ since }) => since));
      const present = oldest && (this.#causes.get(oldest.id) ?? oldest);
      const isWhole = present?.members.every(({ fact }) => group.members.includes(fact));
      const cause: OpenCause = present
        ? { ...present, ...(isWhole ? { kind, evidence, reason } : {}) }
        : {
            ...{ id: newId(), kind, evidence, reason, isLocationsOwn, began, opened: this.#now },
            ...{ members: [], notified: [], incidents: [], wellSince: null, closed: null },
          };
      const members = joining.map(({ isDue: _isDue, ...member }) => member);
      this.#set({ ...cause, members: [...cause.members, ...members] });
      for (const { fact } of joining) this.#notify(cause.id, fact.checkId);
    }
  }

  /** Notifies channels whose checks have all recovered, and closes causes that are over. */
  recover(): void {
    for (const cause of this.#open()) {
      if (!this.#isCalm(cause)) continue;
      const notified = cause.notified.map((one) => {
        const concerned = cause.members.filter(({ channelIds }) => channelIds.includes(one.channelId));
        if (one.isOver || concerned.some(({ recovered }) => recovered === null)) return one;
        const wanted = concerned.filter(({ recovery }) => recovery?.channelIds.includes(one.channelId));
        const last =
          wanted.find(({ fact }) => fact.checkId === one.checkId) ??
          wanted.toSorted((left, right) => (left.recovered ?? 0) - (right.recovered ?? 0)).at(-1);
        if (last?.recovery) {
          const { channelId, checkId } = one;
          this.notices.push({ causeId: cause.id, channelId, checkId, alertId: last.recovery.alertId });
        }
        return { ...one, isOver: true };
      });
      const isOver = cause.members.every(({ recovered }) => recovered !== null);
      if (!isOver && notified.every((one, index) => one === cause.notified[index])) continue;
      this.#set({ ...cause, notified, closed: isOver ? this.#now : null });
    }
  }

  #isCalm({ members }: OpenCause): boolean {
    if (!members.every(({ fact }) => passesElsewhere(fact))) return true;
    const last = Math.max(...members.map(({ recovered }) => recovered ?? this.#now));
    const interval = Math.max(...members.map(({ fact }) => fact.intervalMs));
    return this.#now - last >= calmMsOf(interval);
  }

  /**
   * Notifies the channels of a member that were not notified of its cause, or that were notified it was over.
   */
  #notify(causeId: string, checkId: string): void {
    const cause = this.#causes.get(causeId);
    const member = cause?.members.find(({ fact }) => fact.checkId === checkId);
    if (!cause || !member || cause.isLocationsOwn) return;
    this.#openIncidents(cause, member);
    const active = new Set(cause.notified.filter(({ isOver }) => !isOver).map(({ channelId }) => channelId));
    const channelIds = member.channelIds.filter((id) => !active.has(id));
    if (channelIds.length === 0) return;
    const { alertId } = member;
    for (const channelId of channelIds) this.notices.push({ causeId, channelId, checkId, alertId });
    const notified = channelIds.map((channelId): Notified => ({ channelId, checkId, isOver: false }));
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

  /** Resolves the incidents whose members have all recovered, as soon as the cause is calm. */
  resolveIncidents(): void {
    for (const cause of this.#causes.values()) {
      if (cause.incidents.length === 0 || (cause.closed === null && !this.#isCalm(cause))) continue;
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
   * Passes on what concerns a cause as a whole: all of a lone check, and reminders of the first that still
   * fails.
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

  /** Puts a member in the place of the one that was the same check. */
  #changeMember({ id }: OpenCause, changed: CauseMember): void {
    const cause = this.#causes.get(id);
    if (!cause || cause.members.includes(changed)) return;
    const members = cause.members.map((member) =>
      member.fact.checkId === changed.fact.checkId ? { ...changed, joined: member.joined } : member,
    );
    this.#set({ ...cause, members });
  }

  #causeOf(checkId: string): OpenCause | undefined {
    return this.#open().find(({ members }) => members.some(({ fact }) => fact.checkId === checkId));
  }

  #open(): OpenCause[] {
    return [...this.#causes.values()].filter(({ closed }) => closed === null);
  }

  #set(cause: OpenCause): void {
    this.#causes.set(cause.id, cause);
  }
}

/** The incidents that a member asks for. */
function askedOf({ incident, ruleIds = [] }: CauseMember): AskedIncident[] {
  return [...(incident ? [incident] : []), ...ruleIds.map((ruleId) => ({ ruleId }))];
}

/** What an incident is about: no two of a cause are about the same. */
function subjectOf(incident: AskedIncident): string {
  return 'ruleId' in incident ? `rule ${incident.ruleId}` : `service ${incident.serviceId}`;
}

/** How long a cause at one location must be calm before it is over. */
export function calmMsOf(intervalMs: number): number {
  return Math.min(longestCalmMs, Math.max(shortestCalmMs, 2 * intervalMs));
}

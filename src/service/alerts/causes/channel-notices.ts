import { greatestOf, leastOf } from '@picket/lib/bounds/extremes.ts';
import { passesElsewhere } from './failing-check.ts';
import type { CauseMember, CauseNotice, CauseUpdate, Notified, OpenCause } from './open-cause.ts';

/** Minimum time between two further messages on a cause to one channel. */
const betweenMessagesMs = 60_000;
const shortestCalmMs = 60_000;
const longestCalmMs = 10 * 60_000;
const namedCount = 5;

/**
 * Notifies channels of an open cause after its first message. A channel whose checks have all recovered is notified as
 * soon as the cause is calm. Checks that joined, and checks that recovered while others still fail, are reported by
 * name in at most one message per minute, new failures first. Held alerts wait.
 */
export function notifyChannels(
  cause: OpenCause,
  now: number,
  withheld: ReadonlySet<string>,
): { readonly cause: OpenCause; readonly notices: readonly CauseNotice[] } {
  if (cause.isLocationsOwn) return { cause, notices: [] };
  return tellEach(cause, (one) => tellChannel(cause, one, { now, withheld }));
}

/**
 * Ends the report of a check that now fails for another cause. Its recovery is no longer news, but if it was the last
 * failing member, the channel is notified that the cause is over.
 */
export function notifyOfMove(cause: OpenCause, checkId: string, now: number) {
  return tellEach(cause, (one) => {
    const isTold = untoldOf(cause, one).recovered.some((member) => checkIdOf(member) === checkId);
    if (one.isOver || !isTold) return { one };
    const isLast = concernedOf(cause, one).every(({ recovered }) => recovered !== null);
    if (isLast) return tellOver(cause, one, now);
    return { one: { ...one, told: toldOf(cause, one).filter((id) => id !== checkId) } };
  });
}

function tellEach(cause: OpenCause, tell: (one: Notified) => Told) {
  const notices: CauseNotice[] = [];
  const notified = cause.notified.map((one) => {
    const told = tell(one);
    if (told.notice)
      notices.push({ causeId: cause.id, channelId: one.channelId, checkId: one.checkId, ...told.notice });
    return told.one;
  });
  const isSame = notified.every((one, index) => one === cause.notified[index]);
  return { cause: isSame ? cause : { ...cause, notified }, notices };
}

/** When time alone makes part of an open cause reportable, or null. */
export function nextNoticeAt(cause: OpenCause, withheld: ReadonlySet<string>): number | null {
  if (cause.isLocationsOwn) return null;
  const times = cause.notified.flatMap((one) => {
    const concerned = concernedOf(cause, one);
    if (one.isOver || concerned.every(({ recovered }) => recovered !== null)) return [];
    const { joined, recovered } = untoldOf(cause, one);
    const readyAt = (one.at ?? 0) + betweenMessagesMs;
    return [
      ...(joined.some((member) => !withheld.has(checkIdOf(member))) ? [readyAt] : []),
      ...recovered.map((member) => Math.max(readyAt, tellableAt(cause, member))),
    ];
  });
  return times.length === 0 ? null : leastOf(times);
}

/** Failing members that at least one channel has not been notified of. */
export function unreportedOf(cause: OpenCause): CauseMember[] {
  return cause.notified.flatMap((one) => (one.isOver ? [] : untoldOf(cause, one).joined));
}

/** Members that are still part of the cause. */
export function presentMembers({ members }: OpenCause): readonly CauseMember[] {
  return members.filter(({ left }) => left == null);
}

/** How long a cause at one location must be calm before it is over. */
export function calmMsOf(intervalMs: number): number {
  return Math.min(longestCalmMs, Math.max(shortestCalmMs, 2 * intervalMs));
}

/** Whether all members fail at one location only, where they may alternate between failing and passing. */
function isOfOneLocation(cause: OpenCause): boolean {
  return presentMembers(cause).every(({ fact }) => passesElsewhere(fact));
}

/** Whether an intermittent cause has been absent for long enough; other causes are calm at once. */
export function isCalm(cause: OpenCause, now: number): boolean {
  if (!isOfOneLocation(cause)) return true;
  const members = presentMembers(cause);
  const last = greatestOf(members.map(({ recovered }) => recovered ?? now));
  const interval = greatestOf(members.map(({ fact }) => fact.intervalMs));
  return now - last >= calmMsOf(interval);
}

/** When a recovered member leaves the cause: after one of its intervals. */
export function leavesAt(cause: OpenCause, { fact, recovered }: CauseMember): number | null {
  if (recovered === null) return null;
  return recovered + Math.max(fact.intervalMs, settleMsOf(cause));
}

/** How long a member must have passed before its recovery is reported while others still fail. */
function settleMsOf(cause: OpenCause): number {
  return isOfOneLocation(cause) ? longestCalmMs : shortestCalmMs;
}

function tellableAt(cause: OpenCause, { recovered, left }: CauseMember): number {
  return left ?? (recovered ?? 0) + settleMsOf(cause);
}

type Told = {
  readonly one: Notified;
  readonly notice?: { readonly alertId: string; readonly update?: CauseUpdate };
};

function tellChannel(
  cause: OpenCause,
  one: Notified,
  { now, withheld }: { readonly now: number; readonly withheld: ReadonlySet<string> },
): Told {
  if (one.isOver) return { one };
  const concerned = concernedOf(cause, one);
  if (concerned.every(({ recovered }) => recovered !== null)) {
    return isCalm(cause, now) ? tellOver(cause, one, now) : { one };
  }
  const sinceMs = now - (one.at ?? 0);
  // A clock that was set back must not delay messages.
  if (sinceMs >= 0 && sinceMs < betweenMessagesMs) return { one };
  const told = toldOf(cause, one);
  const { joined: failing, recovered } = untoldOf(cause, one);
  const joined = failing.filter((member) => !withheld.has(checkIdOf(member)));
  const [first] = joined;
  if (first) {
    const next = { ...one, told: [...told, ...joined.map(checkIdOf)], at: now };
    return { one: next, notice: { alertId: first.alertId, update: updateOf('joined', joined) } };
  }
  return tellRecovered(cause, one, {
    settled: recovered.filter((one) => tellableAt(cause, one) <= now),
    now,
  });
}

/** Reports that some members have recovered while others still fail. */
function tellRecovered(
  cause: OpenCause,
  one: Notified,
  { settled, now }: { readonly settled: readonly CauseMember[]; readonly now: number },
): Told {
  if (settled.length === 0) return { one };
  const gone = new Set(settled.map(checkIdOf));
  const rest = toldOf(cause, one).filter((id) => !gone.has(id));
  const wanted = settled.filter(({ recovery }) => recovery?.channelIds.includes(one.channelId));
  const alertId = wanted[0]?.recovery?.alertId;
  if (alertId === undefined) return { one: { ...one, told: rest } };
  const current = new Set(cause.members.map(({ recovery }) => recovery?.alertId));
  const spent = [...(one.spent ?? []).filter((id) => current.has(id)), alertId];
  const update = updateOf('recovered', wanted);
  return { one: { ...one, told: rest, spent, at: now }, notice: { alertId, update } };
}

/** Reports that all have recovered, with the alert of the check that the first message is filed under if possible. */
function tellOver(cause: OpenCause, one: Notified, now: number): Told {
  if (!isCalm(cause, now)) return { one };
  const next = { ...one, isOver: true, at: now };
  const open = cause.members.filter(
    ({ recovery }) => recovery?.channelIds.includes(one.channelId) && !one.spent?.includes(recovery.alertId),
  );
  // A check that has left the cause may now fail for another one.
  const present = open.filter(({ left }) => left == null);
  const candidates = present.length > 0 ? present : open;
  const last =
    candidates.find(({ fact }) => fact.checkId === one.checkId) ??
    candidates.toSorted((left, right) => (left.recovered ?? 0) - (right.recovered ?? 0)).at(-1);
  return last?.recovery ? { one: next, notice: { alertId: last.recovery.alertId } } : { one: next };
}

function concernedOf({ members }: OpenCause, { channelId }: Notified): CauseMember[] {
  return members.filter(({ channelIds }) => channelIds.includes(channelId));
}

function toldOf(cause: OpenCause, one: Notified): readonly string[] {
  return one.told ?? concernedOf(cause, one).map(checkIdOf);
}

/** Changes to the checks of a channel that the channel has not been notified of. */
function untoldOf(cause: OpenCause, one: Notified) {
  const told = new Set(toldOf(cause, one));
  const concerned = concernedOf(cause, one);
  return {
    joined: concerned.filter((member) => member.recovered === null && !told.has(checkIdOf(member))),
    recovered: concerned.filter((member) => member.recovered !== null && told.has(checkIdOf(member))),
  };
}

function updateOf(kind: CauseUpdate['kind'], members: readonly CauseMember[]): CauseUpdate {
  return { kind, count: members.length, names: members.slice(0, namedCount).map(({ fact }) => fact.name) };
}

function checkIdOf({ fact }: CauseMember): string {
  return fact.checkId;
}

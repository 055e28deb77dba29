import { type Deed, type History, minuteMs, type PlannedCheck, type Span } from './history.ts';
import { flapsOf, type Observation, observationsOf } from './observed.ts';

/** Records the spans in which a condition holds. */
class Switch {
  readonly spans: { from: number; to: number }[] = [];
  #since: number | null = null;

  set(isOn: boolean, at: number): void {
    if (isOn && this.#since === null) this.#since = at;
    if (isOn || this.#since === null) return;
    if (at > this.#since) this.spans.push({ from: this.#since, to: at });
    this.#since = null;
  }
}

/** A span in which a check fails. */
export interface Outage extends Span {
  /** Time at which it has failed for long enough to be reported; null if it never does. */
  readonly reachedAt: number | null;
}

/** The truth about one check of a history, as simply as possible: times only, no state. */
export interface CheckTruth {
  /** From the first observed failure to the first observed pass, or to where the check stops running. */
  readonly outages: readonly Outage[];
  /** Spans in which it flaps: flapping is reported once, and nothing else until it is over. */
  readonly flaps: readonly Span[];
  /** Spans in which its alerts are held by a mute, a window or a silence. */
  readonly held: readonly Span[];
  readonly muted: readonly Span[];
  /** Spans in which it runs. */
  readonly alive: readonly Span[];
  /** Spans in which the desk is subscribed, until the channel is moved or deleted. */
  readonly subscribed: readonly Span[];
}

/** Computes the truth about the checks of a history. */
export function truthOf(history: History): CheckTruth[] {
  return history.checks.map((check, index) => truthOfCheck(history, check, index));
}

function truthOfCheck(history: History, check: PlannedCheck, index: number): CheckTruth {
  const { deeds, endsAt } = history;
  const alive = new Switch();
  const subscribed = new Switch();
  const mutes = { own: new Switch(), group: new Switch() };
  const is = { there: check.createdAt === 0, active: true, groupActive: true };
  const live = (at: number) => alive.set(is.there && is.active && (is.groupActive || !check.isGrouped), at);
  live(0);
  subscribed.set(true, 0);
  for (const { at, deed } of deeds) {
    const isOwn = !('check' in deed) || deed.check === index;
    if (isOwn) follow(deed, at, { mutes, subscribed, is, isGrouped: check.isGrouped });
    live(at);
  }
  const cut = deeds.find(({ deed }) => deed.kind === 'delete-channel' || deed.kind === 'move-channel');
  for (const one of [alive, subscribed, mutes.own, mutes.group]) one.set(false, endsAt + 1);
  const held = [
    ...mutes.own.spans,
    ...mutes.group.spans,
    ...windowsOf(deeds).filter(({ isAll }) => isAll || index % 2 === 0),
    ...silencesOf(deeds).filter((silence) => silence.check === index),
  ];
  const seen = alive.spans.map((span) => ({ span, seen: observationsOf(history, check, span) }));
  return {
    outages: seen.flatMap((one) => outagesIn(one.seen, check, one.span)),
    flaps: seen.flatMap((one) =>
      flapsOf(one.seen, check).map(({ from, to }) => ({ from, to: Math.min(to, one.span.to) })),
    ),
    held: merged(held),
    muted: merged([...mutes.own.spans, ...mutes.group.spans]),
    alive: alive.spans,
    subscribed: subscribed.spans.map(({ from, to }) => ({ from, to: Math.min(to, cut?.at ?? to) })),
  };
}

function follow(
  deed: Deed,
  at: number,
  {
    mutes,
    subscribed,
    is,
    isGrouped,
  }: {
    readonly mutes: { readonly own: Switch; readonly group: Switch };
    readonly subscribed: Switch;
    readonly is: { there: boolean; active: boolean; groupActive: boolean };
    readonly isGrouped: boolean;
  },
): void {
  switch (deed.kind) {
    case 'mute':
    case 'unmute':
      mutes.own.set(deed.kind === 'mute', at);
      return;
    case 'mute-group':
    case 'unmute-group':
      if (isGrouped) mutes.group.set(deed.kind === 'mute-group', at);
      return;
    case 'create':
      is.there = true;
      return;
    case 'delete':
      is.there = false;
      return;
    case 'deactivate':
    case 'activate':
      is.active = deed.kind === 'activate';
      return;
    case 'deactivate-group':
    case 'activate-group':
      is.groupActive = deed.kind === 'activate-group';
      return;
    case 'unsubscribe':
      subscribed.set(false, at);
      return;
    default:
  }
}

function outagesIn(seen: readonly Observation[], check: PlannedCheck, alive: Span): Outage[] {
  const found: Outage[] = [];
  let failed: number[] = [];
  for (const { at, isDown } of [...seen, { at: alive.to, dueAt: alive.to, isDown: false }]) {
    if (isDown) failed.push(at);
    const [from] = failed;
    if (isDown || from === undefined) continue;
    found.push({ from, to: at, reachedAt: reachedAt(failed, check, at) });
    failed = [];
  }
  return found;
}

/** After a number of consecutive failed runs, or of minutes since the first of them, with or without another run. */
function reachedAt(
  failed: readonly number[],
  { threshold, escalationMinutes }: PlannedCheck,
  to: number,
): number | null {
  if (escalationMinutes === null) return failed[threshold - 1] ?? null;
  const at = (failed[0] ?? 0) + escalationMinutes * minuteMs;
  return at < to ? at : null;
}

function windowsOf(deeds: History['deeds']): (Span & { readonly isAll: boolean })[] {
  return deeds.flatMap(({ at, deed }) => {
    if (deed.kind !== 'open-window') return [];
    const ended = deeds.find(
      (one) =>
        (one.deed.kind === 'delete-window' || one.deed.kind === 'end-window') &&
        one.deed.window === deed.window,
    );
    return [{ from: at, to: Math.min(deed.endsAt, ended?.at ?? deed.endsAt), isAll: deed.isAll }];
  });
}

function silencesOf(deeds: History['deeds']): (Span & { readonly check: number })[] {
  return deeds.flatMap(({ at, deed }) => {
    if (deed.kind !== 'silence') return [];
    const ended = deeds.find((one) => one.deed.kind === 'end-silence' && one.deed.silence === deed.silence);
    return [{ from: at, to: Math.min(deed.endsAt, ended?.at ?? deed.endsAt), check: deed.check }];
  });
}

/** The same spans without overlaps. */
export function merged(spans: readonly Span[]): Span[] {
  const whole: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = whole.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else if (to > from) whole.push({ from, to });
  }
  return whole;
}

export function holdsAt(spans: readonly Span[], at: number): boolean {
  return spans.some(({ from, to }) => at >= from && at < to);
}

/** Whether a condition holds at any time of a span. */
export function holdsWithin(spans: readonly Span[], { from, to }: Span): boolean {
  return spans.some((span) => span.from < to && span.to > from);
}

/** Whether a condition holds throughout a span. */
export function holdsThrough(spans: readonly Span[], { from, to }: Span): boolean {
  return merged(spans).some((span) => span.from <= from && span.to >= to);
}

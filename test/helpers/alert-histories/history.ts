/** Returns a generator of numbers from 0 to 1 that is determined by the seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const minuteMs = 60_000;
/** The granularity of all times. */
export const stepMs = 5_000;
/** The quiet time at the end of a history, in which everything that was started must settle. */
export const restMs = 25 * minuteMs;

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface PlannedCheck {
  readonly host: number;
  readonly intervalMs: number;
  readonly offsetMs: number;
  readonly isGrouped: boolean;
  /** Number of consecutive failed runs before channels are notified. */
  readonly threshold: number;
  /** Time of its creation; 0: before the history begins. */
  readonly createdAt: number;
  /** Minutes of failure after which channels are notified instead; null: runs count. */
  readonly escalationMinutes: number | null;
  /** The locations it runs at, by index: round-robin or in parallel. */
  readonly places: readonly number[];
  readonly isParallel: boolean;
  readonly isFlapWatched: boolean;
  /** Its host pings at each slot while it is up. */
  readonly isHeartbeat: boolean;
}

/** Defaults of checks. */
export const plainCheck = {
  ...{ escalationMinutes: null, places: [0], isParallel: false, isFlapWatched: false, isHeartbeat: false },
} as const;

/** Grace time of a ping. */
export const pingGraceMs = 60_000;
export const flapSettings = { changes: 3, minutes: 30, stableMinutes: 10 } as const;

/** A deed of people, with the index of the check or channel. Times count from the beginning of a history. */
export type Deed =
  | {
      readonly kind: 'mute' | 'unmute' | 'delete' | 'deactivate' | 'activate' | 'unsubscribe';
      readonly check: number;
    }
  | { readonly kind: 'mute-group' | 'unmute-group' | 'deactivate-group' | 'activate-group' }
  | {
      readonly kind: 'open-window';
      readonly window: number;
      readonly endsAt: number;
      readonly isAll: boolean;
    }
  | { readonly kind: 'delete-window' | 'end-window'; readonly window: number }
  | { readonly kind: 'silence'; readonly silence: number; readonly check: number; readonly endsAt: number }
  | { readonly kind: 'end-silence'; readonly silence: number }
  | { readonly kind: 'move-channel' | 'delete-channel' }
  | { readonly kind: 'create'; readonly check: number };

/** One account's story: its checks, the outages of their hosts, and the deeds of people. */
export interface History {
  readonly seed: number;
  readonly checks: readonly PlannedCheck[];
  /** Outages of each host. */
  readonly outages: readonly (readonly Span[])[];
  /** Times without an agent, for each location. */
  readonly deaths: readonly (readonly Span[])[];
  readonly deeds: readonly { readonly at: number; readonly deed: Deed }[];
  readonly hasChat: boolean;
  readonly endsAt: number;
}

const eventfulMs = 60 * minuteMs;

/** Generates a history from its seed alone. */
export function historyOf(seed: number): History {
  const random = randomOf(seed * 7_919 + 13);
  // A separate generator, so that features that were added later do not change the rest of each history.
  const later = randomOf(seed * 104_729 + 7);
  const below = (count: number) => Math.floor(random() * count);
  const time = (from: number, to: number) => Math.floor((from + random() * (to - from)) / stepMs) * stepMs;
  const chance = (part: number) => random() < part;
  const hostCount = 1 + below(2);
  const checks = Array.from({ length: 1 + below(4) }, (): PlannedCheck => {
    const intervalMs = ([1, 2, 5] as const)[below(3)] as number;
    return {
      host: below(hostCount),
      intervalMs: intervalMs * minuteMs,
      offsetMs: time(0, intervalMs * minuteMs),
      isGrouped: chance(0.35),
      threshold: later() < 0.7 ? 1 : 2 + Math.floor(later() * 2),
      createdAt: chance(0.2) ? time(5 * minuteMs, eventfulMs) : 0,
      ...plainCheck,
    };
  });
  const outages = Array.from({ length: hostCount }, () => outagesOf(1 + below(2), time));
  const deeds: { at: number; deed: Deed }[] = checks.flatMap(({ createdAt }, check) =>
    createdAt === 0 ? [] : [{ at: createdAt, deed: { kind: 'create', check } as const }],
  );
  const add = (at: number, deed: Deed) => deeds.push({ at: Math.min(at, eventfulMs + 10 * minuteMs), deed });
  const span = () => {
    const from = time(2 * minuteMs, eventfulMs - 10 * minuteMs);
    return { from, to: time(from + stepMs, from + 30 * minuteMs) };
  };
  const anyCheck = () => below(checks.length);
  for (let count = below(3); count > 0; count -= 1) {
    const { from, to } = span();
    const check = anyCheck();
    const isOfGroup = chance(0.3);
    add(from, isOfGroup ? { kind: 'mute-group' } : { kind: 'mute', check });
    add(to, isOfGroup ? { kind: 'unmute-group' } : { kind: 'unmute', check });
  }
  for (let window = below(3) - 1; window >= 0; window -= 1) {
    const { from, to } = span();
    add(from, { kind: 'open-window', window, endsAt: to, isAll: chance(0.5) });
    if (chance(0.4))
      add(time(from + stepMs, to), { kind: chance(0.5) ? 'delete-window' : 'end-window', window });
  }
  for (let silence = below(3) - 1; silence >= 0; silence -= 1) {
    const { from, to } = span();
    add(from, { kind: 'silence', silence, check: anyCheck(), endsAt: to });
    if (chance(0.4)) add(time(from + stepMs, to), { kind: 'end-silence', silence });
  }
  if (chance(0.5)) {
    const kinds = ['delete', 'deactivate', 'unsubscribe'] as const;
    const kind = kinds[below(kinds.length)] ?? 'delete';
    const check = anyCheck();
    const { from, to } = span();
    add(from, { kind, check });
    if (kind === 'deactivate' && chance(0.5)) add(to, { kind: 'activate', check });
  }
  if (chance(0.1)) {
    const { from, to } = span();
    add(from, { kind: 'deactivate-group' });
    add(to, { kind: 'activate-group' });
  }
  if (chance(0.15)) add(span().from, { kind: chance(0.5) ? 'move-channel' : 'delete-channel' });
  // No deed affects a check before its creation.
  const isPossible = ({ at, deed }: (typeof deeds)[number]) =>
    deed.kind === 'create' || !('check' in deed) || at > (checks[deed.check]?.createdAt ?? 0);
  const done = deeds.filter(isPossible).sort((one, other) => one.at - other.at);
  return {
    seed,
    checks,
    outages,
    deaths: [[]],
    deeds: done,
    hasChat: chance(0.7),
    endsAt: eventfulMs + 10 * minuteMs + restMs,
  };
}

function outagesOf(count: number, time: (from: number, to: number) => number): Span[] {
  const spans: Span[] = [];
  let after = 2 * minuteMs;
  for (let index = 0; index < count && after < eventfulMs - 10 * minuteMs; index += 1) {
    const from = time(after, eventfulMs - 10 * minuteMs);
    const to = time(from + minuteMs, Math.min(eventfulMs + 5 * minuteMs, from + 40 * minuteMs));
    spans.push({ from, to });
    after = to + 5 * minuteMs;
  }
  return spans;
}

/** The slots of a check up to a time, from its creation on. */
export function slotsOf({ intervalMs, offsetMs, createdAt }: PlannedCheck, until: number): number[] {
  const slots: number[] = [];
  for (let at = offsetMs; at <= until; at += intervalMs) if (at > createdAt) slots.push(at);
  return slots;
}

/** Locations at which a slot of a check runs. */
export function placesOf(
  { places, isParallel, intervalMs, offsetMs }: PlannedCheck,
  at: number,
): readonly number[] {
  if (isParallel) return places;
  const place = places[((at - offsetMs) / intervalMs) % places.length];
  return place === undefined ? [] : [place];
}

/** After this time without an agent, the service considers a location to have no agents. */
export const awayMs = 2 * minuteMs;

/** Whether a slot is missed because its location has had no agent for two minutes or more. */
export function isMissed(
  check: PlannedCheck,
  place: number,
  { slotAt, death }: { readonly slotAt: number; readonly death: Span },
): boolean {
  const missedAt = slotAt + check.intervalMs;
  const isKnown = missedAt >= death.from + awayMs && missedAt < death.to;
  return slotAt >= death.from && isKnown && placesOf(check, slotAt).includes(place);
}

export function isDownAt(outages: readonly Span[], at: number): boolean {
  return outages.some(({ from, to }) => at >= from && at < to);
}

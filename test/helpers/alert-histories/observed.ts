import {
  flapSettings,
  type History,
  isDownAt,
  minuteMs,
  type PlannedCheck,
  pingGraceMs,
  placesOf,
  type Span,
  slotsOf,
  stepMs,
} from './history.ts';

/** An observation of a check and the time of its slot: a run in several locations is judged later. */
export interface Observation {
  readonly at: number;
  readonly dueAt: number;
  readonly isDown: boolean;
}

/** Observations of a check while it runs. */
export function observationsOf(history: History, check: PlannedCheck, alive: Span): Observation[] {
  const slots = slotsOf(check, alive.to - 1).filter((at) => at >= alive.from);
  const outages = history.outages[check.host] ?? [];
  if (check.isHeartbeat)
    return ofPings(
      slots.filter((at) => !isDownAt(outages, at)),
      check,
      alive,
    );
  return ofRuns(history, check, slots);
}

/**
 * A missed run yields no observation; a run in several locations passes when all have reported, or when the next one
 * begins.
 */
function ofRuns({ outages, deaths }: History, check: PlannedCheck, slots: readonly number[]): Observation[] {
  const isMeasured = (at: number) => (place: number) => !isDownAt(deaths[place] ?? [], at);
  const measured = slots.filter((at) => placesOf(check, at).some(isMeasured(at)));
  return measured.flatMap((slot, index) => {
    const isDown = isDownAt(outages[check.host] ?? [], slot);
    const isWhole = placesOf(check, slot).every(isMeasured(slot));
    const at = isDown || isWhole ? slot : measured[index + 1];
    return at === undefined ? [] : [{ at, dueAt: slot, isDown }];
  });
}

/**
 * The next ping is expected one period after the last. If it has not arrived by the end of the grace time, the check
 * fails, and the timer restarts there. The first ping starts it.
 */
function ofPings(pings: readonly number[], { intervalMs }: PlannedCheck, alive: Span): Observation[] {
  const found: Observation[] = [];
  let last: number | null = null;
  for (const ping of [...pings, alive.to]) {
    while (last !== null && last + intervalMs + pingGraceMs + stepMs < ping) {
      last += intervalMs + pingGraceMs + stepMs;
      found.push({ at: last, dueAt: last, isDown: true });
    }
    if (ping === alive.to) break;
    found.push({ at: ping, dueAt: ping, isDown: false });
    last = ping;
  }
  return found;
}

/** A check flaps from the change that exceeds its settings until it has not changed for long enough. */
export function flapsOf(seen: readonly Observation[], { isFlapWatched }: PlannedCheck): Span[] {
  const flaps: { from: number; to: number }[] = [];
  let changes: number[] = [];
  let isDown = false;
  let from: number | null = null;
  for (const one of isFlapWatched ? seen : []) {
    const last = one.isDown === isDown ? changes.at(-1) : one.dueAt;
    if (one.isDown !== isDown) changes.push(one.dueAt);
    isDown = one.isDown;
    if (from === null) {
      changes = changes.filter((at) => one.dueAt - at < flapSettings.minutes * minuteMs);
      if (changes.length > flapSettings.changes && last === one.dueAt) from = one.at;
    } else if (one.dueAt - (last ?? 0) >= flapSettings.stableMinutes * minuteMs) {
      flaps.push({ from, to: one.at });
      from = null;
      changes = [];
    }
  }
  return from === null ? flaps : [...flaps, { from, to: Number.POSITIVE_INFINITY }];
}

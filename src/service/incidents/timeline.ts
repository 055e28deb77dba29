import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { IncidentSeverity, IncidentStatus } from './tables.ts';

/**
 * An incident has no state of its own: its state follows from its updates, ordered by the dates they are shown under.
 * The first update begins it. It is over if the newest update is RESOLVED; it then ended at the first RESOLVED of the
 * unbroken series at the end. Any other status after that reopens it, and the time between counts as part of the
 * incident (check model 4.7).
 */
export function timelineOf(
  updates: readonly { readonly status: IncidentStatus; readonly published: number }[],
): { last_status: IncidentStatus; started: number; ended: number | null } | null {
  const newest = updates[0];
  const oldest = updates.at(-1);
  if (!newest || !oldest) return null;
  let ended: number | null = null;
  for (const { status, published } of updates) {
    if (status !== 'RESOLVED') break;
    ended = published;
  }
  return { last_status: newest.status, started: oldest.published, ended };
}

/** Duration in whole seconds; null while the incident is open. */
export function durationSeconds({ started, ended }: Incident): number | null {
  return ended === null ? null : Math.round((ended - started) / 1000);
}

const dayMs = 86_400_000;
export const uptimeDays = 90;

interface Incident {
  readonly started: number;
  readonly ended: number | null;
}

/** Milliseconds of a window with at least one open incident; overlapping time counts once. */
function incidentMs(incidents: readonly Incident[], from: number, to: number): number {
  const spans = incidents
    .map(({ started, ended }) => ({ from: Math.max(started, from), to: Math.min(ended ?? to, to) }))
    .filter((span) => span.to > span.from)
    .sort((left, right) => left.from - right.from);
  let total = 0;
  let covered = from;
  for (const span of spans) {
    total += Math.max(0, span.to - Math.max(span.from, covered));
    covered = Math.max(covered, span.to);
  }
  return total;
}

/** Observed period, at most 90 days, and the part of it without an incident. */
export interface Uptime {
  /** Start of the observed period. */
  readonly since: number;
  readonly windowMs: number;
  readonly upMs: number;
}

/** @param since when it was first measured or created; null if nothing is known about it yet. */
export function uptimeOf(incidents: readonly Incident[], since: number | null, now: number): Uptime | null {
  if (since === null) return null;
  const from = Math.max(since, now - uptimeDays * dayMs);
  // In its first moment it counts as up.
  const windowMs = Math.max(1, now - from);
  return { since: from, windowMs, upMs: windowMs - incidentMs(incidents, from, now) };
}

/** Sum of several: each counts for as long as it was observed. */
export function addedUptime(parts: readonly (Uptime | null)[]): Uptime | null {
  const known = parts.filter((part) => part !== null);
  if (known.length === 0) return null;
  const sum = (read: (part: Uptime) => number) => known.reduce((total, part) => total + read(part), 0);
  return {
    since: leastOf(known.map(({ since }) => since)),
    windowMs: sum(({ windowMs }) => windowMs),
    upMs: sum(({ upMs }) => upMs),
  };
}

/** In the format of the API. */
export function uptimeView(uptime: Uptime | null): { uptime: number | null; uptimeSince: string | null } {
  if (uptime === null) return { uptime: null, uptimeSince: null };
  const { since, windowMs, upMs } = uptime;
  return { uptime: (100 * upMs) / windowMs, uptimeSince: new Date(since).toISOString() };
}

/** Seconds of incidents on each of the last 90 days in UTC, including today, oldest first. */
export function incidentDays(
  incidents: readonly Incident[],
  now: number,
): { date: string; incidentSeconds: number }[] {
  const today = Math.floor(now / dayMs) * dayMs;
  return Array.from({ length: uptimeDays }, (_, index) => {
    const from = today - (uptimeDays - 1 - index) * dayMs;
    const ms = incidentMs(incidents, from, Math.min(from + dayMs, now));
    return { date: new Date(from).toISOString().slice(0, 10), incidentSeconds: Math.round(ms / 1000) };
  });
}

const severityOrder = ['MINOR', 'MEDIUM', 'MAJOR', 'CRITICAL'] as const;

/** Worst severity of the incidents open at an instant; OPERATIONAL without incidents. */
export function stateAt(
  incidents: readonly (Incident & { readonly severity: IncidentSeverity })[],
  now: number,
): IncidentSeverity | 'OPERATIONAL' {
  const open = incidents.filter(({ started, ended }) => started <= now && (ended === null || ended > now));
  return (
    severityOrder.findLast((severity) => open.some((incident) => incident.severity === severity)) ??
    'OPERATIONAL'
  );
}

/** The worst of several states. */
export function worstServiceState(
  states: readonly (IncidentSeverity | 'OPERATIONAL')[],
): IncidentSeverity | 'OPERATIONAL' {
  return severityOrder.findLast((severity) => states.includes(severity)) ?? 'OPERATIONAL';
}

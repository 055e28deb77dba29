import { leastOf } from '@picket/lib/bounds/extremes.ts';
import type { IncidentSeverity, IncidentStatus } from './tables.ts';

/**
 * An incident has no state of its own: it follows from its updates, in the order of the dates they are shown
 * under. The first update begins it. It is over when the newest update says RESOLVED; the moment it ended is
 * then the first RESOLVED of the unbroken row of them at the end. Any other status after that opens it again,
 * and the time between counts as part of the incident (check model 4.7).
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

/** The time from begin to end in whole seconds; null while the incident is open. */
export function durationSeconds({ started, ended }: Incident): number | null {
  return ended === null ? null : Math.round((ended - started) / 1000);
}

const dayMs = 86_400_000;
export const uptimeDays = 90;

interface Incident {
  readonly started: number;
  readonly ended: number | null;
}

/**
 * Milliseconds of a window in which at least one of the incidents went on: time that two share counts once.
 */
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

/** How long something was watched, at most for 90 days, and how much of that went without an incident. */
export interface Uptime {
  /** From when on it counts. */
  readonly since: number;
  readonly windowMs: number;
  readonly upMs: number;
}

/** @param since when it was first measured, or made; null where nothing is known of it yet. */
export function uptimeOf(incidents: readonly Incident[], since: number | null, now: number): Uptime | null {
  if (since === null) return null;
  const from = Math.max(since, now - uptimeDays * dayMs);
  // In its first moment it is up.
  const windowMs = Math.max(1, now - from);
  return { since: from, windowMs, upMs: windowMs - incidentMs(incidents, from, now) };
}

/** Several together: each counts for as long as it was watched. */
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

/** As the API shows it. */
export function uptimeView(uptime: Uptime | null): { uptime: number | null; uptimeSince: string | null } {
  if (uptime === null) return { uptime: null, uptimeSince: null };
  const { since, windowMs, upMs } = uptime;
  return { uptime: (100 * upMs) / windowMs, uptimeSince: new Date(since).toISOString() };
}

/** Seconds of incidents on each of the last 90 days in UTC, today included, oldest first. */
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

/** The worst severity of the incidents that go on at an instant; OPERATIONAL without one. */
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

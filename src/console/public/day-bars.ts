import { utcDay } from '@picket/lib/figures/time.ts';
import { type Coverage, coverageText, type Measurement } from '@picket/protocol/runs/coverage.ts';
import { counted, duration } from '../elements/format.ts';
import { type Html, html } from '../html.ts';

/** A day of a component or service on a page. */
export interface Day {
  /** YYYY-MM-DD, UTC. */
  readonly date: string;
  /** Duration of incidents on that day; 0 without known incidents. */
  readonly incidentSeconds: number;
  /** null if it is not measured and incidents are reported manually. */
  readonly measurement: Measurement | null;
  readonly coverage: Coverage | null;
}

/** Known days, and when they begin. */
export interface Watched {
  readonly days: readonly Day[];
  readonly uptimeSince: string | null;
}

type Kind = 'incident' | 'measured' | 'partly' | 'announced' | 'unmeasured' | 'before';

const words: Readonly<Record<Kind, string>> = {
  measured: 'Measured, no incident',
  partly: 'Measured in part, no incident',
  incident: 'Incident',
  announced: 'No incident announced, not measured by checks',
  unmeasured: 'Not measured',
  before: 'No data yet',
};
const barWidth = 6;
const barHeight = 32;
const lowHeight = 9;
const announcedHeight = 3;

/** @param since when it was first measured or created; null if nothing is known yet. */
function kindOf({ date, incidentSeconds, measurement, coverage }: Day, since: string | null): Kind {
  if (incidentSeconds > 0) return 'incident';
  const isBefore = since === null || date < utcDay(since);
  if (isBefore && (coverage === null || coverage.due === 0)) return 'before';
  if (measurement === null) return 'announced';
  if (measurement === 'NONE') return 'unmeasured';
  return measurement === 'FULL' ? 'measured' : 'partly';
}

/**
 * Draws days as bars, oldest first. A day without measurements is a low grey bar; a partly measured one has a grey part
 * on top of the green one. Height and text also distinguish the bars, not only colour.
 */
export function dayBars(label: string, { days, uptimeSince }: Watched): Html {
  const width = days.length * barWidth;
  return html`<div class="day-bars"><p class="hidden">${spoken(label, days, uptimeSince)}</p><svg viewBox="0 0 ${width} ${barHeight}" preserveAspectRatio="none" aria-hidden="true">${days.map(
    (day, index) => dayBar(day, kindOf(day, uptimeSince), index * barWidth),
  )}</svg></div>`;
}

function dayBar(day: Day, kind: Kind, x: number): Html {
  const rect = (name: string, height: number, bottom = 0) =>
    html`<rect class="day-${name}" x="${x + 0.75}" y="${(barHeight - bottom - height).toFixed(1)}" width="${barWidth - 1.5}" height="${height.toFixed(1)}"/>`;
  const shapes = () => {
    if (kind === 'incident') return rect('incident', barHeight);
    if (kind === 'measured') return rect('measured', 24);
    if (kind === 'announced') return rect('announced', announcedHeight);
    if (kind === 'unmeasured') return rect('unmeasured', lowHeight);
    if (kind === 'before') return [];
    const green = Math.max(2, (24 * (day.coverage?.percent ?? 0)) / 100);
    return [rect('measured', green), rect('unmeasured', 24 - green, green)];
  };
  return html`<g><title>${day.date}: ${saying(day, kind)}</title><path class="hit" d="M${x} 0h${barWidth}v${barHeight}h-${barWidth}z"/>${shapes()}</g>`;
}

function saying(day: Day, kind: Kind): string {
  const covered = day.coverage === null ? null : coverageText(day.coverage);
  if (kind === 'incident') {
    return `incident for ${duration(day.incidentSeconds * 1_000)}${covered === null ? '' : `, ${covered}`}`;
  }
  if (kind === 'partly') return `no incident, ${covered ?? 'measured in part'}`;
  return words[kind].toLowerCase();
}

function spoken(label: string, days: readonly Day[], since: string | null): string {
  const kinds = Map.groupBy(days, (day) => kindOf(day, since));
  const parts = [...kinds].map(
    ([kind, list]) => `${words[kind].toLowerCase()}: ${counted(list.length, 'day')}`,
  );
  return `${label}. ${parts.join('; ')}.`;
}

/** Legend of the bars on a page, limited to the kinds shown. */
export function dayLegend(all: readonly Watched[]): Html | '' {
  const kinds = new Set(all.flatMap(({ days, uptimeSince }) => days.map((day) => kindOf(day, uptimeSince))));
  const shown = (Object.keys(words) as Kind[]).filter((kind) => kinds.has(kind));
  if (shown.length === 0) return '';
  return html`<ul class="legend">${shown.map(
    (kind) =>
      html`<li><svg width="10" height="14" viewBox="0 0 10 14" aria-hidden="true">${sample(kind)}</svg>${words[kind]}</li>`,
  )}</ul>`;
}

function sample(kind: Kind): Html {
  const rect = (name: string, y: number, height: number) =>
    html`<rect class="day-${name}" x="1.5" y="${y}" width="7" height="${height}"/>`;
  switch (kind) {
    case 'incident':
      return rect('incident', 0, 14);
    case 'measured':
      return rect('measured', 3, 11);
    case 'partly':
      return html`${rect('unmeasured', 3, 5)}${rect('measured', 8, 6)}`;
    case 'announced':
      return rect('announced', 12, 2);
    case 'unmeasured':
      return rect('unmeasured', 9, 5);
    case 'before':
      return html``;
  }
}

import type { Lane } from '../elements/charts/lanes.ts';
import { type ChartBucket, type ChartLine, timesLane } from '../elements/charts/time-chart.ts';
import type { Phase } from '../elements/charts/waterfall.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { type Content, type Html, html } from '../html.ts';
import { hrefOf, type Selection, zoomHref } from './range.ts';
import { type CheckSeries, percentileOf, type Row, type Trend } from './series.ts';

/** Consecutive phases that add up to the response time, by their names in check types. */
const stacked: Readonly<Record<string, readonly [name: string, kind: Phase['kind']]>> = {
  wait: ['Waiting for a connection', 'wait'],
  dns: ['Name (DNS)', 'dns'],
  tcp: ['Connection', 'tcp'],
  connection: ['Connection', 'tcp'],
  tls: ['Encryption', 'tls'],
  firstByte: ['First byte', 'first-byte'],
  data: ['Data', 'download'],
  download: ['Download', 'download'],
};

export function isPhase(name: string): boolean {
  return name in stacked;
}

/** Lines that readers can distinguish. If there are more locations, the slowest are drawn. */
const mostLines = 8;

export interface TimesPart {
  /** Null without times. */
  readonly lane: Lane | null;
  readonly title: string;
  /** Links that switch between phases and locations. */
  readonly controls: Content;
  readonly legend: Content;
}

/** The lane of response times: phases and percentiles, or a line for each location. */
export async function timesOf(
  selection: Selection,
  series: CheckSeries,
  hasPlaces: boolean,
): Promise<TimesPart> {
  const { time, isEvents } = series.metrics;
  if (time.length === 0) return { lane: null, title: 'Runs', controls: '', legend: '' };
  const part =
    selection.by === 'location' && !isEvents
      ? await byLocation(selection, series)
      : await byPhase(selection, series);
  const what = isEvents ? 'Duration of the job and pings' : 'Response time and runs';
  const title = part.lane ? what : isEvents ? 'Pings' : 'Runs';
  return { ...part, title, controls: hasPlaces ? controlsOf(selection) : '' };
}

async function byPhase(
  selection: Selection,
  series: CheckSeries,
): Promise<Omit<TimesPart, 'title' | 'controls'>> {
  const { time, phases, isEvents } = series.metrics;
  const { location, range } = selection;
  const trend = location === null || isEvents ? await series.trend() : (await series.trends()).get(location);
  if (!trend) return { lane: null, legend: '' };
  const lines = time.map(percentileOf).map((name) => ({ name, className: `line-${name}` }));
  const buckets = bucketsOf(selection, series, trend, (row) => ({
    linesMs: time.map((key) => numberIn(row, key)),
    parts: phases.flatMap((name) => {
      const ms = numberIn(row, `${name}_avg`);
      const [word, kind] = stacked[name] ?? [isEvents ? 'Average' : name, 'other' as const];
      return ms !== null && ms > 0 ? [{ name: word, kind, ms }] : [];
    }),
  }));
  const used = new Map(buckets.flatMap(({ parts }) => parts.map(({ name, kind }) => [name, kind] as const)));
  const legend = [
    ...lines.map((line) => html`<li>${lineSwatch(line)}${line.name}</li>`),
    ...[...used].map(
      ([name, kind]) =>
        html`<li><svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class="phase-${kind}" width="10" height="10" rx="2"/></svg>${name}</li>`,
    ),
  ];
  const lane = timesLane({ ...range, buckets, lines });
  return { lane, legend: lane ? legend : '' };
}

/** The 95th percentile of each location. A click on a name shows its location alone. */
async function byLocation(
  selection: Selection,
  series: CheckSeries,
): Promise<Omit<TimesPart, 'title' | 'controls'>> {
  const key = series.metrics.time.find((name) => name.endsWith('_p95')) ?? '';
  const { location, range } = selection;
  const trends = [...(await series.trends())].filter(([name]) => location === null || name === location);
  const shown = slowest(trends, key);
  const [first] = trends;
  if (!first) return { lane: null, legend: '' };
  const lines = shown.map(([name], index) => ({
    name: visible(shortened(name, 60)),
    className: `line-place line-place-${index + 1}`,
    href: hrefOf(selection, { location: location === null ? name : null }),
  }));
  const buckets = bucketsOf(selection, series, first[1], (_row, at) => ({
    linesMs: shown.map(([, { rows }]) => numberIn(rows.get(at), key)),
    parts: [],
  }));
  const lane = timesLane({ ...range, buckets, lines });
  const hidden = trends.length - shown.length;
  const legend = [
    html`<li>p95 of</li>`,
    ...lines.map((line) => html`<li>${lineSwatch(line)}<a href="${line.href}">${line.name}</a></li>`),
    hidden === 0 ? '' : html`<li>The slowest ${shown.length}; ${hidden} more are in the table below</li>`,
  ];
  return { lane, legend: lane ? legend : '' };
}

function slowest(trends: readonly (readonly [string, Trend])[], key: string): (readonly [string, Trend])[] {
  if (trends.length <= mostLines) return [...trends];
  const longest = ({ rows }: Trend) =>
    Math.max(0, ...[...rows.values()].map((row) => numberIn(row, key) ?? 0));
  return trends
    .toSorted(([, left], [, right]) => longest(right) - longest(left))
    .slice(0, mostLines)
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

function bucketsOf(
  selection: Selection,
  series: CheckSeries,
  { rows, intervalMs }: Trend,
  valuesOf: (row: Row | undefined, at: number) => Pick<ChartBucket, 'linesMs' | 'parts'>,
): ChartBucket[] {
  return series.starts().map((from) => ({
    ...{ from, to: from + intervalMs, href: zoomHref(selection, from, from + intervalMs) },
    ...valuesOf(rows.get(from), from),
  }));
}

function numberIn(row: Row | undefined, key: string): number | null {
  const value = row?.[key];
  return typeof value === 'number' ? value : null;
}

function lineSwatch({ className }: ChartLine): Html {
  return html`<svg class="swatch" viewBox="0 0 16 10" width="16" height="10" aria-hidden="true"><path class="chart-line ${className}" d="M0 5h16"/></svg>`;
}

function controlsOf(selection: Selection): Content {
  const link = (by: Selection['by'], word: string) =>
    html`<li><a href="${hrefOf(selection, { by })}"${selection.by === by ? html` aria-current="true"` : ''}>${word}</a></li>`;
  const { location } = selection;
  return html`<nav class="ranges chart-controls" aria-label="View"><ul>${link('phase', 'By phase')}${link('location', 'By location')}</ul>${
    location === null
      ? ''
      : html`<span>Only ${visible(shortened(location, 60))} <a href="${hrefOf(selection, { location: null })}">Show all locations</a></span>`
  }</nav>`;
}

import { type Html, html } from '../../html.ts';
import { duration } from '../format.ts';
import { type Lane, laneChart, laneItem, stretched } from './lanes.ts';
import { type ChartMark, marksLane } from './marks-lane.ts';
import { type AxisSpan, placeOf, shareIn, shortNumber } from './time-axis.ts';
import type { Phase } from './waterfall.ts';

export type { ChartMark } from './marks-lane.ts';

export interface ChartPart {
  readonly name: string;
  readonly kind: Phase['kind'];
  readonly ms: number;
}

/** The measurements of a time interval. */
export interface ChartBucket extends AxisSpan {
  /** Stacked from the bottom; empty without measurements. */
  readonly parts: readonly ChartPart[];
  /** Drawn over the stack, one point of each line; in the order of `lines`. */
  readonly linesMs: readonly (number | null)[];
  /** Link to a closer view, if there is one. */
  readonly href: string | null;
}

/** A line of a chart: its name, and its class in charts.css. */
export interface ChartLine {
  readonly name: string;
  readonly className: string;
}

export interface Times extends AxisSpan {
  readonly buckets: readonly ChartBucket[];
  readonly lines: readonly ChartLine[];
}

export interface TimeChart extends AxisSpan {
  readonly label: string;
  readonly buckets: readonly ChartBucket[];
  /** Names of the lines: `p50`, `p95`, `p99`. */
  readonly lines: readonly string[];
  readonly marks: readonly ChartMark[];
  /** Link for a selected range, completed by `from` and `to`; absent: selection is disabled. */
  readonly zoomHref?: string;
}

const [height, top] = [168, 6];
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Chart of times over a range: stacked phases, lines, and events below. Intervals without measurements stay empty. */
export function timeChart(chart: TimeChart): Html {
  const lines = chart.lines.map((name) => ({ name, className: `line-${name}` }));
  const lane = timesLane({ ...chart, lines });
  // An axis with only 0 would say less than this text.
  if (!lane) return html`<p class="empty">No response times in this range.</p>`;
  const marks = chart.marks.length === 0 ? [] : [marksLane('', chart.marks, chart)];
  return laneChart({ ...chart, lanes: [lane, ...marks] });
}

/** The lane of times, or null if it would show only 0. */
export function timesLane(times: Times): Lane | null {
  const { buckets, lines } = times;
  const sums = buckets.map(({ parts }) => parts.reduce((sum, { ms }) => sum + ms, 0));
  const most = Math.max(...sums, ...buckets.flatMap(({ linesMs }) => linesMs.map((ms) => ms ?? 0)), 0);
  if (most === 0) return null;
  const { highest, parts } = roundScale(most);
  const y = (ms: number) => top + (height - top) * (1 - ms / highest);
  const scale = Array.from({ length: parts + 1 }, (_none, index) => {
    const ms = (highest * index) / parts;
    return { y: y(ms), word: tickText(ms) };
  });
  const grid = scale.map((tick) => {
    const at = shortNumber(Math.min(height - 0.5, tick.y));
    return html`<line class="grid" x1="0" x2="100%" y1="${at}" y2="${at}"/>`;
  });
  const paths = lines.map(
    ({ className }, line) =>
      html`<path class="chart-line ${className}" d="${linePath(times, { line, y })}"/>`,
  );
  return {
    name: '',
    height,
    scale,
    content: html`${grid}${buckets.map((bucket) => column(bucket, times, y))}${stretched(height, paths)}`,
  };
}

function column(bucket: ChartBucket, times: Times, y: (ms: number) => number): Html {
  const { from, to, parts, linesMs, href } = bucket;
  if (parts.length === 0 && linesMs.every((ms) => ms === null)) return html``;
  const tenth = (to - from) / 10;
  const { x, width } = placeOf(times, { from: from + tenth, to: to - tenth });
  let base = 0;
  const shapes = parts.map(({ kind, ms }) => {
    const [upper, lower] = [y(base + ms), y(base)];
    base += ms;
    return html`<rect class="phase-${kind}" x="${x}" y="${upper.toFixed(1)}" width="${width}" height="${Math.max(0, lower - upper).toFixed(1)}"/>`;
  });
  const said = [
    ...linesMs.flatMap((ms, line) =>
      ms === null ? [] : `${times.lines[line]?.name ?? ''} ${duration(ms)}`.trim(),
    ),
    ...parts.map(({ name, ms }) => `${name} ${duration(ms)}`),
  ];
  return laneItem({ from, to, title: said.join(', '), href, shapes }, times);
}

function linePath(
  times: Times,
  { line, y }: { readonly line: number; readonly y: (ms: number) => number },
): string {
  let path = '';
  let isDrawing = false;
  for (const { from, to, linesMs } of times.buckets) {
    const lineMs = linesMs[line] ?? null;
    if (lineMs !== null) {
      const x = shortNumber(shareIn(times, (from + to) / 2) * 1000);
      path += isDrawing ? `L${x} ${y(lineMs).toFixed(1)}` : `M${x} ${y(lineMs).toFixed(1)}h.01`;
    }
    isDrawing = lineMs !== null;
  }
  return path;
}

/** Formats an axis value exactly: ticks are round numbers, so no two labels are equal. */
export function tickText(ms: number): string {
  if (ms > 0 && ms < 10) return `${Number(ms.toPrecision(3))} ms`;
  // Short: the axis of a phone has no room for "2 min 30 s".
  return ms > minuteMs && ms % minuteMs === minuteMs / 2 ? `${ms / minuteMs} min` : duration(ms);
}

/** Steps of an axis of minutes and more: parts of an hour and of a day, rather than powers of ten. */
const clockSteps = [
  ...[0.5, 1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 3, 5, 7, 14].map((days) => days * dayMs),
];

/** A scale of at most five round parts that holds a value in milliseconds. */
function roundScale(value: number): { readonly highest: number; readonly parts: number } {
  const power = 10 ** Math.floor(Math.log10(value / 5));
  const decimal = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power * 5 >= value) ?? 10);
  const step = (value > minuteMs ? clockSteps.find((one) => one * 5 >= value) : undefined) ?? decimal;
  const parts = Math.max(1, Math.ceil(value / step));
  return { highest: parts * step, parts };
}

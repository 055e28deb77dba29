import { type Html, html } from '../../html.ts';
import { duration, utc } from '../format.ts';
import type { Phase } from './waterfall.ts';

export interface ChartPart {
  readonly name: string;
  readonly kind: Phase['kind'];
  readonly ms: number;
}

/** The measurements of a time interval. */
export interface ChartBucket {
  readonly from: number;
  readonly to: number;
  /** Stacked from the bottom; empty without measurements. */
  readonly parts: readonly ChartPart[];
  /** Drawn over the stack, one point of each line; in the order of `lines`. */
  readonly linesMs: readonly (number | null)[];
  /** Link to a closer view, if there is one. */
  readonly href: string | null;
}

/** An event on the axis of the chart. */
export interface ChartMark {
  readonly kind: 'alert' | 'recovery' | 'incident';
  readonly from: number;
  /** End of a lasting event; the same as `from` for an instant. */
  readonly to: number;
  readonly title: string;
  readonly href: string | null;
}

export interface TimeChart {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly buckets: readonly ChartBucket[];
  /** Names of the lines, which are CSS classes: `p50`, `p95`, `p99`. */
  readonly lines: readonly string[];
  readonly marks: readonly ChartMark[];
  /** Link for a selected range, completed by `from` and `to`; absent: selection is disabled. */
  readonly zoomHref?: string;
}

const [width, height, left, bottom] = [1100, 200, 62, 8];
const marksHeight = 16;

/**
 * Chart of response times over a range: stacked phases, lines, and events. Intervals without measurements stay empty.
 * If the plot is wider than the screen, its axis stays in view. Scripts make a range selectable by pointer or arrow
 * keys (app.js).
 */
export function timeChart(chart: TimeChart): Html {
  const { label, from, to, buckets, lines, marks } = chart;
  const sums = buckets.map(({ parts }) => parts.reduce((sum, { ms }) => sum + ms, 0));
  const most = Math.max(...sums, ...buckets.flatMap(({ linesMs }) => linesMs.map((ms) => ms ?? 0)), 0);
  // An axis with only 0 would say less than this text.
  if (most === 0) return html`<p class="empty">No response times in this range.</p>`;
  const highest = niceCeiling(most);
  const plot = { width: width - left, height: height - bottom - 6 };
  const y = (ms: number) => 6 + plot.height - (ms / highest) * plot.height;
  const step = plot.width / Math.max(1, buckets.length);
  const columns = buckets.map((bucket, index) => column(bucket, { x: left + index * step, step, y, lines }));
  const whole = height + (marks.length > 0 ? marksHeight : 0);
  const start = buckets[0]?.from ?? from;
  const end = buckets.at(-1)?.to ?? to;
  const at = (instant: number) =>
    left + (Math.min(Math.max(instant - start, 0), end - start) / (end - start)) * plot.width;
  const ticks = [0, 0.5, 1].map((share) => ({ y: y(share * highest), word: tickText(share * highest) }));
  const tickTexts = ticks.map(
    (tick) => html`<text class="tick" x="${left - 8}" y="${(tick.y + 4).toFixed(1)}">${tick.word}</text>`,
  );
  return html`<div class="chart-frame"><div class="chart" tabindex="0" role="region" aria-label="${label}"${
    chart.zoomHref === undefined
      ? ''
      : html` data-brush="${chart.zoomHref}" data-from="${start}" data-to="${end}" data-left="${left / width}"`
  }><svg viewBox="0 0 ${width} ${whole}" width="${width}" height="${whole}">
${ticks.map((tick) => html`<path class="grid" d="M${left} ${tick.y.toFixed(1)}H${width}"/>`)}${tickTexts}
${columns}${lines.map((name, line) => html`<path class="chart-line line-${name}" d="${linePath(buckets, { line, step, y })}"/>`)}${marks.map((one) => mark(one, at))}<rect class="brush" x="0" y="0" width="0" height="${height}"/></svg></div><svg class="chart-axis" viewBox="0 0 ${left} ${whole}" aria-hidden="true"><rect width="${left}" height="${height}"/>${tickTexts}</svg></div>`;
}

function column(
  bucket: ChartBucket,
  { x, step, y, lines }: { x: number; step: number; y: (ms: number) => number; lines: readonly string[] },
): Html {
  let base = 0;
  const rects = bucket.parts.map(({ kind, ms }) => {
    const [from, to] = [y(base + ms), y(base)];
    base += ms;
    return html`<rect class="phase-${kind}" x="${(x + step * 0.1).toFixed(1)}" y="${from.toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${Math.max(0, to - from).toFixed(1)}"/>`;
  });
  if (bucket.parts.length === 0 && bucket.linesMs.every((ms) => ms === null)) return html``;
  const at = utc(bucket.from);
  const said = bucket.parts.map(({ name, ms }) => `${name} ${duration(ms)}`);
  const line = bucket.linesMs.flatMap((ms, index) =>
    ms === null ? [] : [`${lines[index]} ${duration(ms)}`],
  );
  const shapes = html`<title>${at}: ${[...line, ...said].join(', ')}</title><path class="hit" d="M${x.toFixed(1)} 6h${step.toFixed(1)}V${height - bottom}h-${step.toFixed(1)}z"/>${rects}`;
  return bucket.href === null
    ? html`<g>${shapes}</g>`
    : html`<a href="${bucket.href}" tabindex="-1">${shapes}</a>`;
}

/** Draws an instant as a sign below the columns, a lasting event as a bar. */
function mark({ kind, from, to, title, href }: ChartMark, at: (instant: number) => number): Html {
  const [x, end] = [at(from), at(to)];
  const top = height + 2;
  const shape =
    kind === 'incident'
      ? html`<rect x="${x.toFixed(1)}" y="${top + 3}" width="${Math.max(3, end - x).toFixed(1)}" height="7" rx="2"/>`
      : kind === 'alert'
        ? html`<path d="M${x.toFixed(1)} ${top}l6 11h-12z"/>`
        : html`<circle cx="${x.toFixed(1)}" cy="${top + 6}" r="5"/>`;
  const shown = html`<title>${title}</title>${shape}`;
  return href === null
    ? html`<g class="mark-${kind}">${shown}</g>`
    : html`<a class="mark-${kind}" href="${href}" tabindex="-1">${shown}</a>`;
}

function linePath(
  buckets: readonly ChartBucket[],
  { line, step, y }: { readonly line: number; readonly step: number; readonly y: (ms: number) => number },
): string {
  let path = '';
  let isDrawing = false;
  for (const [index, { linesMs }] of buckets.entries()) {
    const lineMs = linesMs[line] ?? null;
    if (lineMs !== null) {
      const x = (left + (index + 0.5) * step).toFixed(1);
      path += isDrawing ? `L${x} ${y(lineMs).toFixed(1)}` : `M${x} ${y(lineMs).toFixed(1)}h.01`;
    }
    isDrawing = lineMs !== null;
  }
  return path;
}

/** Formats an axis value exactly: ticks are halves of round numbers, so no two labels are equal. */
export function tickText(ms: number): string {
  return ms > 0 && ms < 10 ? `${Number(ms.toPrecision(3))} ms` : duration(ms);
}

/** Returns the next of 1, 2, 5, 10, … */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

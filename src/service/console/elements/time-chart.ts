import { type Html, html } from '../html.ts';
import { duration } from './format.ts';
import type { Phase } from './waterfall.ts';

export interface ChartPart {
  readonly name: string;
  readonly kind: Phase['kind'];
  readonly ms: number;
}

/** What was measured in a stretch of time. */
export interface ChartBucket {
  readonly from: number;
  readonly to: number;
  /** Stacked, from the bottom; empty where nothing was measured. */
  readonly parts: readonly ChartPart[];
  /** Drawn as a line over the stack. */
  readonly lineMs: number | null;
  /** A closer look at it. */
  readonly href: string;
}

const [width, height, left, bottom] = [1100, 200, 62, 8];

/** Response time over a range: stacked phases, and a line. Where nothing was measured there is nothing. */
export function timeChart(label: string, buckets: readonly ChartBucket[], lineName: string): Html {
  const sums = buckets.map(({ parts }) => parts.reduce((sum, { ms }) => sum + ms, 0));
  const highest = niceCeiling(Math.max(...sums, ...buckets.map(({ lineMs }) => lineMs ?? 0), 0.001));
  const plot = { width: width - left, height: height - bottom - 6 };
  const y = (ms: number) => 6 + plot.height - (ms / highest) * plot.height;
  const step = plot.width / Math.max(1, buckets.length);
  const columns = buckets.map((bucket, index) =>
    column(bucket, { x: left + index * step, step, y, lineName }),
  );
  return html`<div class="chart" tabindex="0" role="region" aria-label="${label}"><svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
${[0, 0.5, 1].map((share) => html`<path class="grid" d="M${left} ${y(share * highest).toFixed(1)}H${width}"/><text class="tick" x="${left - 8}" y="${(y(share * highest) + 4).toFixed(1)}">${duration(share * highest)}</text>`)}
${columns}<path class="chart-line" d="${linePath(buckets, { step, y })}"/></svg></div>`;
}

function column(
  bucket: ChartBucket,
  { x, step, y, lineName }: { x: number; step: number; y: (ms: number) => number; lineName: string },
): Html {
  let base = 0;
  const rects = bucket.parts.map(({ kind, ms }) => {
    const [from, to] = [y(base + ms), y(base)];
    base += ms;
    return html`<rect class="phase-${kind}" x="${(x + step * 0.1).toFixed(1)}" y="${from.toFixed(1)}" width="${(step * 0.8).toFixed(1)}" height="${Math.max(0, to - from).toFixed(1)}"/>`;
  });
  if (bucket.parts.length === 0 && bucket.lineMs === null) return html``;
  const at = `${new Date(bucket.from).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const said = bucket.parts.map(({ name, ms }) => `${name} ${duration(ms)}`);
  const line = bucket.lineMs === null ? [] : [`${lineName} ${duration(bucket.lineMs)}`];
  return html`<a href="${bucket.href}" tabindex="-1"><title>${at}: ${[...line, ...said].join(', ')}</title><path class="hit" d="M${x.toFixed(1)} 6h${step.toFixed(1)}V${height - bottom}h-${step.toFixed(1)}z"/>${rects}</a>`;
}

function linePath(
  buckets: readonly ChartBucket[],
  { step, y }: { readonly step: number; readonly y: (ms: number) => number },
): string {
  let path = '';
  let isDrawing = false;
  for (const [index, { lineMs }] of buckets.entries()) {
    if (lineMs !== null) {
      const x = (left + (index + 0.5) * step).toFixed(1);
      path += isDrawing ? `L${x} ${y(lineMs).toFixed(1)}` : `M${x} ${y(lineMs).toFixed(1)}h.01`;
    }
    isDrawing = lineMs !== null;
  }
  return path;
}

/** The next of 1, 2, 5, 10, … */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

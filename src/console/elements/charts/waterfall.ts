import { type Html, html } from '../../html.ts';
import { duration } from '../format.ts';

export interface Phase {
  readonly name: string;
  /** One of the classes of phases in elements.css. */
  readonly kind: 'wait' | 'dns' | 'proxy' | 'tcp' | 'tls' | 'first-byte' | 'download' | 'agent' | 'other';
  readonly startMs: number;
  readonly lengthMs: number;
  /** Shown apart: not part of the total. */
  readonly isApart?: boolean;
}

const rowHeight = 26;
/** Durations are next to the names: on narrow screens the bars are cut off, the figures are not. */
const [labelX, lengthX, barsX, barsWidth, width] = [0, 224, 238, 430, 690];

/** Draws phases one below the other on a common axis, each with its duration. */
export function waterfall(label: string, phases: readonly Phase[]): Html {
  const end = Math.max(...phases.map(({ startMs, lengthMs }) => startMs + lengthMs), 0.001);
  const scale = barsWidth / end;
  const height = phases.length * rowHeight + 22;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => ({ x: barsX + share * barsWidth, ms: share * end }));
  return html`<div class="waterfall" tabindex="0" role="region" aria-label="${label}"><svg role="img" aria-label="${spoken(label, phases)}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
${ticks.map(
  ({ x, ms }) =>
    html`<path class="grid" d="M${x.toFixed(1)} 0v${height - 18}"/><text class="tick" x="${x.toFixed(1)}" y="${height - 4}">${duration(ms)}</text>`,
)}
${phases.map((phase, index) => {
  const y = index * rowHeight;
  const x = barsX + phase.startMs * scale;
  const length = Math.max(1.5, phase.lengthMs * scale);
  return html`<g${phase.isApart ? html` class="apart"` : ''}><text x="${labelX}" y="${y + 16}">${phase.name}</text><rect class="phase-${phase.kind}" x="${x.toFixed(1)}" y="${y + 5}" width="${length.toFixed(1)}" height="15" rx="2"/><text class="length" x="${lengthX}" y="${y + 16}">${duration(phase.lengthMs)}</text></g>`;
})}</svg></div>`;
}

function spoken(label: string, phases: readonly Phase[]): string {
  return `${label}: ${phases.map(({ name, lengthMs }) => `${name} ${duration(lengthMs)}`).join(', ')}`;
}

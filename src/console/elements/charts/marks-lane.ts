import { type Content, type Html, html } from '../../html.ts';
import { fixedAt, type Lane, laneItem } from './lanes.ts';
import { type AxisSpan, placeOf } from './time-axis.ts';

/** An event on the axis of a chart. */
export interface ChartMark {
  readonly kind: 'alert' | 'recovery' | 'incident' | 'change' | 'deployment' | 'maintenance';
  readonly from: number;
  /** End of a lasting event; the same as `from` for an instant. */
  readonly to: number;
  readonly title: string;
  readonly href: string | null;
}

const height = 18;

/** The signs of instants, drawn around (0, 9): their shapes differ, not only their colours. */
const signs: Readonly<Record<ChartMark['kind'], Html>> = {
  alert: html`<path d="M0 3l6 11h-12z"/>`,
  recovery: html`<circle cy="9" r="5"/>`,
  incident: html`<rect x="-4" y="5" width="8" height="8"/>`,
  change: html`<path d="M0 3l6 6-6 6-6-6z"/>`,
  deployment: html`<path d="M-5 15v-6l5-6 5 6v6z"/>`,
  maintenance: html`<rect x="-4" y="5" width="8" height="8" rx="4"/>`,
};

/** Events of one sort: instants as signs, lasting ones as bars. */
export function marksLane(name: Content, marks: readonly ChartMark[], span: AxisSpan): Lane {
  return { name, height, content: html`${marks.map((mark) => markItem(mark, span))}` };
}

function markItem(mark: ChartMark, span: AxisSpan): Html {
  const { kind, from, to } = mark;
  const { x, width } = placeOf(span, mark);
  const bar = html`<rect class="lasting" x="${x}" y="5" width="${width}" height="8" rx="2"/>`;
  const sign = fixedAt(span, from, signs[kind]);
  // The start of a bar that is narrower than a pixel is still visible.
  const shapes =
    to > from ? html`${bar}${fixedAt(span, from, html`<rect y="5" width="3" height="8"/>`)}` : sign;
  return laneItem({ ...mark, shapes, className: `mark-${kind}` }, span);
}

/** The sign of an event, for legends. */
export function markSwatch(kind: ChartMark['kind']): Html {
  return html`<svg class="swatch mark-${kind}" viewBox="-7 2 14 14" width="12" height="12" aria-hidden="true">${signs[kind]}</svg>`;
}

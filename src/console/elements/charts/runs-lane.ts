import { type Content, type Html, html } from '../../html.ts';
import type { State } from '../state.ts';
import { fixedAt, type Lane, laneItem } from './lanes.ts';
import { type AxisSpan, placeOf } from './time-axis.ts';

/** A run, a slot that was not measured, or several of them together. */
export interface RunBar extends AxisSpan {
  /** The worst state among them. */
  readonly state: State;
  readonly title: string;
  readonly href: string | null;
  /** An on-demand run: marked, because no figure includes it. */
  readonly isOnDemand?: boolean;
  /** Started noticeably after its due time. */
  readonly isLate?: boolean;
  /** A bar of several slots, including unmeasured ones. */
  readonly isPartlyMissed?: boolean;
}

const height = 30;

/** Heights distinguish the states without colour. An unmeasured slot is a low grey bar, never a green one. */
const heights: Readonly<Record<State, number>> = {
  passed: 18,
  degraded: 22,
  failed: 28,
  error: 28,
  missed: 8,
  waiting: 8,
  off: 8,
};

/** Runs as bars on the axis of the chart. */
export function runsLane(name: Content, bars: readonly RunBar[], span: AxisSpan): Lane {
  return { name, height, isMain: true, content: html`${bars.map((bar) => barItem(bar, span))}` };
}

function barItem(bar: RunBar, span: AxisSpan): Html {
  const { state, from, to, isOnDemand, isLate, isPartlyMissed } = bar;
  const tall = heights[state];
  const margin = (to - from) / 10;
  const { x, width } = placeOf(span, { from: from + margin, to: to - margin });
  const plain = html`<rect class="bar bar-${state}" x="${x}" y="${height - tall}" width="${width}" height="${tall}"/>`;
  if (!isPartlyMissed && !isLate && !isOnDemand) return laneItem({ ...bar, shapes: plain }, span);
  const shapes = html`${plain}${
    isPartlyMissed
      ? html`<rect class="bar-missed" x="${x}" y="${height - heights.missed}" width="${width}" height="${heights.missed}"/>`
      : ''
  }${isLate ? html`<rect class="bar-late" x="${x}" y="${height - 3}" width="${width}" height="3"/>` : ''}${isOnDemand ? fixedAt(span, (from + to) / 2, html`<path class="bar-asked" d="M-3 0h6l-3 5z"/>`) : ''}`;
  return laneItem({ ...bar, shapes }, span);
}

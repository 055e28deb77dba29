import { type Content, type Html, html } from '../../html.ts';
import { utc } from '../format.ts';
import { type AxisSpan, percentOf, placeOf, tickLabels, tickLines, tickStep } from './time-axis.ts';

/** A row of a chart. All rows of a chart have the same axis. */
export interface Lane {
  /** Shown at the left, or above on narrow screens; empty for a lane with its own axis at the left. */
  readonly name: Content;
  /** In pixels: only the width follows the screen. */
  readonly height: number;
  /** Labels of the values at the left. */
  readonly scale?: readonly ScaleTick[];
  /** Shapes, with horizontal positions in percent. */
  readonly content: Html;
  /** Whether its items come first when a key opens what is under the cursor. */
  readonly isMain?: boolean;
}

/** A value of a vertical axis with its distance from the top. */
export interface ScaleTick {
  readonly y: number;
  readonly word: string;
}

/** A period without measurements, shown grey through all lanes. */
export interface Gap extends AxisSpan {
  readonly title: string;
}

export interface LaneChart extends AxisSpan {
  readonly label: string;
  readonly lanes: readonly Lane[];
  readonly gaps?: readonly Gap[];
  /** Page for a selected range, to which `from` and `to` are added; absent: no range can be selected. */
  readonly zoomHref?: string | undefined;
}

const axisHeight = 18;

/**
 * A chart whose lanes share one axis of time. It is as wide as its place and needs no script: links and tooltips work.
 * Scripts add a cursor with the values of all lanes, the selection of a range by pointer or keys, and labels in the
 * reader's zone (chart.js).
 */
export function laneChart(chart: LaneChart): Html {
  const { label, lanes, gaps = [], zoomHref } = chart;
  return html`<div class="chart" tabindex="0" role="group" aria-label="${label}" data-from="${chart.from}" data-to="${chart.to}" data-step="${tickStep(chart)}"${
    zoomHref === undefined ? '' : html` data-zoom="${zoomHref}"`
  }><div class="lanes"><svg class="chart-back" width="100%" height="100%" aria-hidden="true">${gaps.map((gap) => gapArea(gap, chart))}${tickLines(chart)}</svg>
${lanes.map(laneRow)}<div class="lane lane-time"><div class="lane-head"></div><svg class="lane-plot" width="100%" height="${axisHeight}" aria-hidden="true">${tickLabels(chart)}</svg></div>
<svg class="chart-front" width="100%" height="100%" aria-hidden="true"><rect class="brush" y="0" width="0" height="100%"/><line class="cursor" y1="0" y2="100%"/></svg></div><div class="chart-tip" aria-live="polite" hidden></div></div>`;
}

function laneRow({ name, height, scale, content, isMain }: Lane): Html {
  const head = scale
    ? html`<svg class="scale" width="100%" height="${height}" aria-hidden="true">${scale.map(
        ({ y, word }) =>
          html`<text class="tick" x="100%" y="${Math.max(10, y + 4).toFixed(1)}">${word}</text>`,
      )}</svg>`
    : html`<span class="lane-name">${name}</span>`;
  return html`<div class="lane${scale ? ' lane-scale' : ''}${isMain ? ' lane-main' : ''}"><div class="lane-head">${head}</div><svg class="lane-plot" width="100%" height="${height}">${content}</svg></div>
`;
}

function gapArea({ from, to, title }: Gap, span: AxisSpan): Html {
  const { x, width } = placeOf(span, { from, to });
  return html`<g class="item" data-at="${from}"><title>${utc(from)}
${title}</title><rect class="hit gap" x="${x}" width="${width}" height="100%"/></g>`;
}

/** Something in a lane: the cursor names it, and a click follows its link. */
export interface Item extends AxisSpan {
  readonly title: string;
  readonly href: string | null;
  readonly shapes: Content;
  readonly className?: string;
}

/**
 * An item with an area of its whole period to point at. Its tooltip has the time in UTC and the words below it, which
 * scripts show at the cursor. Items are no tab stops: the cursor reaches them by keys. Pages have hundreds of them, so
 * each is one template.
 */
export function laneItem(item: Item, span: AxisSpan): Html {
  const { from, title, href, shapes, className } = item;
  const { x, width } = placeOf(span, item);
  const names = className === undefined ? 'item' : `item ${className}`;
  return href === null
    ? html`<g class="${names}" data-at="${from}"><title>${utc(from)}
${title}</title><rect class="hit" x="${x}" width="${width}" height="100%"/>${shapes}</g>`
    : html`<a class="${names}" data-at="${from}" href="${href}" tabindex="-1"><title>${utc(from)}
${title}</title><rect class="hit" x="${x}" width="${width}" height="100%"/>${shapes}</a>`;
}

/** Shapes of a fixed size in pixels around an instant, whatever the width of the chart. */
export function fixedAt(span: AxisSpan, at: number, shape: Html): Html {
  return html`<svg x="${percentOf(span, at)}" overflow="visible">${shape}</svg>`;
}

/** Lines whose shape follows the width of the chart, while their strokes keep theirs; x runs from 0 to 1000. */
export function stretched(height: number, paths: Content): Html {
  return html`<svg viewBox="0 0 1000 ${height}" width="100%" height="${height}" preserveAspectRatio="none">${paths}</svg>`;
}

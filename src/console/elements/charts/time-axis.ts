import { type Html, html } from '../../html.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Lengths that people count time in: each is a multiple of an earlier one, and divides the hour or the day. */
const steps = [
  ...[1, 2, 5, 10, 15, 20, 30].map((count) => count * minuteMs),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * hourMs),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * dayMs),
];
const longestStep = steps.at(-1) ?? dayMs;

/** The period that a chart shows, in epoch milliseconds; the end is exclusive. */
export interface AxisSpan {
  readonly from: number;
  readonly to: number;
}

/** Returns the shortest round length that divides a period into at most `most` parts. */
export function roundStep({ from, to }: AxisSpan, most: number): number {
  const least = (to - from) / most;
  return steps.find((step) => step >= least) ?? Math.ceil(least / longestStep) * longestStep;
}

/** The same as a share of the period in percent: charts are as wide as their place. */
export function percentOf({ from, to }: AxisSpan, at: number): string {
  return `${shortNumber(shareIn({ from, to }, at) * 100)}%`;
}

/** Position and width of a part of the period, which is cut at the ends of the chart. */
export function placeOf(span: AxisSpan, part: AxisSpan): { readonly x: string; readonly width: string } {
  const [start, end] = [shareIn(span, part.from) * 100, shareIn(span, part.to) * 100];
  return { x: `${shortNumber(start)}%`, width: `${shortNumber(end - start)}%` };
}

/** From 0 to 1, also for instants outside the period. */
export function shareIn({ from, to }: AxisSpan, at: number): number {
  return Math.min(1, Math.max(0, (at - from) / Math.max(1, to - from)));
}

/** Three digits are a hundredth of a pixel on the widest screens. */
export function shortNumber(value: number): string {
  return String(Number(value.toFixed(3)));
}

interface Tick {
  readonly at: number;
  readonly word: string;
}

/** Labels of an axis at most: more would touch each other on a screen of 1280 pixels. */
const mostTicks = 10;

/** Distance of the labels of an axis. */
export function tickStep(span: AxisSpan): number {
  return roundStep(span, mostTicks);
}

/** Labels at round times in UTC: days where a day begins, times elsewhere. */
export function ticksIn(span: AxisSpan): Tick[] {
  const step = tickStep(span);
  const ticks: Tick[] = [];
  for (let at = Math.ceil(span.from / step) * step; at < span.to; at += step) {
    ticks.push({ at, word: tickWord(at) });
  }
  return ticks;
}

/** Made when it is first used: that takes as long as many charts. */
let days: Intl.DateTimeFormat | undefined;

function tickWord(at: number): string {
  if (at % dayMs !== 0) return new Date(at).toISOString().slice(11, 16);
  days ??= new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return days.format(at);
}

/** Lines at the ticks, behind the lanes. The page's script moves them to round times of the reader's zone (chart.js). */
export function tickLines(span: AxisSpan): Html {
  return html`<g class="tick-lines">${ticksIn(span).map(({ at }) => {
    const x = percentOf(span, at);
    return html`<line class="grid" x1="${x}" x2="${x}" y1="0" y2="100%"/>`;
  })}</g>`;
}

/** Labels nearer to an end than this would leave the chart. */
const endShare = 0.015;

/** The labels below the lanes. Every second one is left out where there is little place. */
export function tickLabels(span: AxisSpan): Html {
  const inside = ticksIn(span).filter(({ at }) => Math.abs(shareIn(span, at) - 0.5) < 0.5 - endShare);
  return html`<g class="tick-labels">${inside.map(
    ({ at, word }, index) =>
      html`<text class="${index % 2 === 0 ? 'tick' : 'tick minor-tick'}" x="${percentOf(span, at)}" y="13">${word}</text>`,
  )}</g>`;
}

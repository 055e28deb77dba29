import { type Html, html } from '../../html.ts';
import type { State } from '../state.ts';

export interface Bar {
  readonly state: State;
  /** Tooltip text. */
  readonly title: string;
  readonly href: string | null;
  /** An on-demand run: marked, because no figure includes it. */
  readonly isOnDemand?: boolean;
}

const heights: Readonly<Record<State, number>> = {
  passed: 20,
  degraded: 24,
  failed: 28,
  error: 28,
  missed: 8,
  waiting: 8,
  off: 8,
};
const barHeight = 28;
const barWidth = 6;

/**
 * Draws runs as bars, oldest first; their heights distinguish them without colour. A slot that was never measured is a
 * low grey bar, never a green one. The bars are not tab stops: keyboard users reach each run through the links around
 * the chart.
 *
 * @param options.slots number of available places: fewer bars are aligned right, unless `isFromLeft`.
 */
export function bars(
  label: string,
  list: readonly Bar[],
  options: { readonly slots: number; readonly isFromLeft?: boolean },
): Html {
  const { slots, isFromLeft = false } = options;
  const shown = list.slice(-slots);
  const from = isFromLeft ? 0 : slots - shown.length;
  return html`<div class="bars"><p class="hidden">${label}</p><svg viewBox="0 0 ${slots * barWidth} ${barHeight}" width="${slots * barWidth}" height="${barHeight}">${shown.map(
    (bar, index) => linked(bar, (from + index) * barWidth),
  )}</svg></div>`;
}

function linked(bar: Bar, x: number): Html {
  const height = heights[bar.state];
  // The whole height is clickable.
  const shapes = html`<title>${bar.title}</title><path class="hit" d="M${x} 0h${barWidth}v${barHeight}h-${barWidth}z"/><rect class="bar-${bar.state}" x="${x + 1}" y="${barHeight - height}" width="${barWidth - 2}" height="${height}" rx="1"/>${bar.isOnDemand ? html`<path class="bar-asked" d="M${x + 1} 0h${barWidth - 2}l${1 - barWidth / 2} 4z"/>` : ''}`;
  return bar.href === null ? html`<g>${shapes}</g>` : html`<a href="${bar.href}" tabindex="-1">${shapes}</a>`;
}

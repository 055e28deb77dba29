import { type Html, html } from '../html.ts';
import type { State } from './state.ts';

export interface Bar {
  readonly state: State;
  /** What a pointer on it shows. */
  readonly title: string;
  readonly href: string | null;
  /** A run that somebody asked for: it has a mark, since no figure counts it. */
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
 * Runs as bars, oldest first: their height tells them apart where colour does not. A slot that was never
 * measured is a low grey one, never a green one. People who use the keyboard get at each run by the links
 * around it: the bars are not among the stops of the Tab key.
 *
 * @param options.slots how many bars there is room for: fewer stand at the right, unless `isFromLeft`.
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
  // The whole height takes the click.
  const shapes = html`<title>${bar.title}</title><path class="hit" d="M${x} 0h${barWidth}v${barHeight}h-${barWidth}z"/><rect class="bar-${bar.state}" x="${x + 1}" y="${barHeight - height}" width="${barWidth - 2}" height="${height}" rx="1"/>${bar.isOnDemand ? html`<path class="bar-asked" d="M${x + 1} 0h${barWidth - 2}l${1 - barWidth / 2} 4z"/>` : ''}`;
  return bar.href === null ? html`<g>${shapes}</g>` : html`<a href="${bar.href}" tabindex="-1">${shapes}</a>`;
}

import type { SummaryLogLine } from '@picket/checks/summary/detail-summary.ts';
import { section, visible } from '../../elements/text.ts';
import { type Content, html } from '../../html.ts';

const shownLines = 500;

/** Shows the log of a run with the time of each line. */
export function logSection(entries: readonly SummaryLogLine[]): Content {
  if (entries.length === 0) return '';
  const rest = entries.length - shownLines;
  return section(
    'Log',
    html`<div class="log" tabindex="0" role="region" aria-label="Log of the run"><ol>${entries
      .slice(0, shownLines)
      .map(
        ({ time, msg, level }) =>
          html`<li class="log-${level.toLowerCase()}"><time datetime="${isoOf(time)}" data-ago title="${isoOf(time)}">${isoOf(time).slice(11, 23)}</time> <span class="log-level">${level}</span> <span>${visible(msg)}</span></li>`,
      )}</ol></div>${rest > 0 ? html`<p class="hint">${rest} more lines are in the API.</p>` : ''}`,
    'log',
  );
}

/** Script times are from the script's host and may be any number. */
function isoOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

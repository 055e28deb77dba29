import { instant } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { hrefOf, neighbours, rangeNames, ranges, type Selection, viewQuery } from './range.ts';

/** Links to ranges, and a form for any other; times of the form are in the reader's zone with scripts (chart.js). */
export function rangePicker(selection: Selection, now: number): Html {
  const { checkId, range } = selection;
  const { earlier, later, wider } = neighbours(range, now);
  const hidden = Object.entries(viewQuery(selection)).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const step = (to: typeof earlier, word: string, sign: Content) =>
    to === null
      ? html`<li><span class="button bare" aria-hidden="true">${sign}</span></li>`
      : html`<li><a class="button bare" href="${hrefOf(selection, { range: to })}" aria-label="${word}" title="${word}">${sign}</a></li>`;
  return html`<nav class="ranges" aria-label="Range"><ul>${rangeNames.map(
    (name) =>
      html`<li><a href="${hrefOf(selection, { range: { ...range, name } })}" title="${ranges[name].title}"${range.name === name ? html` aria-current="true"` : ''}>${ranges[name].word}</a></li>`,
  )}</ul><ul class="range-steps">${step(earlier, 'Earlier', icon('chevron-left'))}${step(later, 'Later', icon('chevron-right'))}${step(wider, 'Zoom out', icon('zoom-out'))}</ul>
<span class="soft">${instant(range.from)} to ${instant(range.to)}</span>
<details class="own-range"><summary>Other range</summary><form method="get" action="${path`/checks/${checkId}`}" data-zoned>${hidden}${field('from', 'From', Math.floor(range.from / minuteMs) * minuteMs)}${field('to', 'To', Math.ceil(range.to / minuteMs) * minuteMs)}<button class="button" type="submit">Show</button></form></details></nav>`;
}

const minuteMs = 60_000;

function field(name: string, label: string, at: number): Html {
  const id = `range-${name}`;
  return html`<div class="field"><label for="${id}">${label} (<span data-zone-name>UTC</span>)</label><input type="datetime-local" id="${id}" name="${name}" value="${new Date(at).toISOString().slice(0, 16)}" step="any" required></div>`;
}

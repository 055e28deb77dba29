import type { SummaryLogLine } from '@picket/checks/summary/detail-summary.ts';
import { counted } from '../../elements/format.ts';
import { icon } from '../../elements/icon.ts';
import { section, visible } from '../../elements/text.ts';
import { type Content, type Html, html } from '../../html.ts';

const shownLines = 500;

/** Shows the log of a run with the time of each line. */
export function logSection(entries: readonly SummaryLogLine[]): Content {
  return entries.length === 0 ? '' : section('Log', logPart(entries), 'log');
}

/**
 * The same as a part of a section. The script of the page filters it by level, and copies it.
 *
 * @param id distinguishes several logs of a page.
 * @param options.isLive whether it grows: the newest line is in sight, unless the reader scrolls back.
 * @param options.title shown above it, in the line of its buttons if there is room.
 */
export function logPart(
  entries: readonly SummaryLogLine[],
  id = 'log-lines',
  { isLive = false, title = '' }: { readonly isLive?: boolean; readonly title?: Content } = {},
): Html {
  const rest = entries.length - shownLines;
  return html`${tools(entries, id, title)}<div class="log${isLive ? ' is-live' : ''}" id="${id}" tabindex="0" role="region" aria-label="Log of the run"><ol>${entries
    .slice(0, shownLines)
    .map(
      ({ time, msg, level }) =>
        html`<li class="log-${level.toLowerCase()}"><time datetime="${isoOf(time)}" data-ago title="${isoOf(time)}">${isoOf(time).slice(11, 23)}</time> <span class="log-level">${level}</span> <span>${visible(msg)}</span></li>`,
    )}</ol></div>${rest > 0 ? html`<p class="hint">${counted(rest, 'more line')}: the API has them.</p>` : ''}`;
}

const levels = [
  ['DEBUG', 'All'],
  ['INFO', 'Info'],
  ['WARN', 'Warnings'],
  ['ERROR', 'Errors'],
] as const;

/** Levels that would hide nothing or everything are not offered, and of two that show the same, only the stricter one. */
function tools(entries: readonly SummaryLogLine[], id: string, title: Content): Html {
  const order = levels.map(([level]) => level);
  const counts = order.map(
    (_level, index) => entries.filter(({ level }) => order.indexOf(level) >= index).length,
  );
  const offered = levels.flatMap(([level, word], index) => {
    const [count = 0, stricter] = [counts[index], counts[index + 1]];
    const isUseful = count > 0 && count < entries.length && count !== stricter;
    return index === 0 || isUseful ? [{ level, word: `${word} ${count}` }] : [];
  });
  const filter =
    offered.length < 2
      ? ''
      : html`<span class="log-filter" role="group" aria-label="Least level">${offered.map(
          ({ level, word }, index) =>
            html`<button type="button" data-least="${level}" data-log="${id}" aria-pressed="${String(index === 0)}">${word}</button>`,
        )}</span>`;
  return html`<div class="log-tools">${title === '' ? '' : html`<div class="log-title">${title}</div>`}${filter}<button class="copy" type="button" data-copy-from="#${id} ol" aria-label="Copy the log">${icon('copy')}<span>Copy</span></button></div>`;
}

/** Script times are from the script's host and may be any number. */
function isoOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

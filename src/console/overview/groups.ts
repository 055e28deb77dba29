import { type OverviewState, overviewStates } from '@picket/service/overviews/states.ts';
import { counted, countText, shortened } from '../elements/format.ts';
import { stateBadge, states } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';
import { checkRow, type ShownCheck } from './row.ts';

/** Groups without problems are folded: open ones deserve attention. */
export function groupedRows(
  shown: readonly ShownCheck[],
  counts: ReadonlyMap<number | null, ReadonlyMap<OverviewState, number>>,
  now: number,
): Html {
  const groups = Map.groupBy(shown, ({ row }) => row.groupId);
  return html`${[...groups].map(([id, checks]) => {
    const own = counts.get(id) ?? new Map<OverviewState, number>();
    const worst = overviewStates.find((state) => (own.get(state) ?? 0) > 0) ?? 'waiting';
    const name = id === null ? 'In no group' : visible(shortened(checks[0]?.groupName ?? '', 120));
    const isWell = worst === 'passed' || worst === 'off';
    return html`<details class="check-group" id="group-${id ?? 'none'}"${isWell ? '' : html` open`}><summary>${stateBadge(worst)} <b>${name}</b> <span class="soft">${spoken(own)}</span></summary><ul class="checks">${checks.map((check) => checkRow(check, now))}</ul></details>`;
  })}`;
}

/** Formats `12 checks: 2 failing, 10 passing`. */
function spoken(counts: ReadonlyMap<OverviewState, number>): string {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const parts = overviewStates.flatMap((state) => {
    const count = counts.get(state) ?? 0;
    return count === 0 ? [] : [`${countText(count)} ${states[state].word.toLowerCase()}`];
  });
  return `${counted(all, 'check')}: ${parts.join(', ')}`;
}

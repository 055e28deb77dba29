import { type OverviewState, overviewStates } from '@picket/service/overviews/states.ts';
import { counted, countText, shortened } from '../elements/format.ts';
import { states } from '../elements/state.ts';
import { visible } from '../elements/text.ts';
import { type Html, html } from '../html.ts';
import { stateGlyph } from './glyph.ts';
import { checkRow, type RowOptions, type ShownCheck } from './row.ts';

/**
 * The checks by group, each group in a body of the table that folds without scripts. Groups without problems are
 * folded; the browser remembers what its user changed.
 */
export function groupBodies(
  shown: readonly ShownCheck[],
  counts: ReadonlyMap<number | null, ReadonlyMap<OverviewState, number>>,
  options: RowOptions & { readonly columns: number },
): Html {
  const groups = Map.groupBy(shown, ({ row }) => row.groupId);
  return html`${[...groups].map(([id, checks]) => {
    const own = counts.get(id) ?? new Map<OverviewState, number>();
    const worst = overviewStates.find((state) => (own.get(state) ?? 0) > 0) ?? 'waiting';
    const name = id === null ? 'In no group' : visible(shortened(checks[0]?.groupName ?? '', 120));
    const isWell = worst === 'passed' || worst === 'off';
    return html`<tbody><tr class="group-row"><th colspan="${options.columns - 1}" scope="rowgroup"><details class="check-group" id="group-${id ?? 'none'}"${isWell ? '' : html` open`}><summary>${stateGlyph(worst)} <b>${name}</b> <span class="soft">${spoken(own)}</span></summary></details></th><td class="check-week"></td></tr>${checks.map((check) => checkRow(check, options))}</tbody>`;
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

import type { OverviewState } from '@picket/service/overviews/states.ts';
import { type Html, html } from '../html.ts';
import { groupBodies } from './groups.ts';
import { checkRow, type RowOptions, type ShownCheck } from './row.ts';
import { type Sorting, type SortKey, sortableHeading } from './sorting.ts';

export interface ListOptions extends RowOptions {
  readonly sorting: Sorting;
  /** The current query, without the page. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Counts of each group's states, for the list by group. */
  readonly byGroup: ReadonlyMap<number | null, ReadonlyMap<OverviewState, number>> | undefined;
}

/** The table of checks: one header, and a row for each check. */
export function checkTable(shown: readonly ShownCheck[], options: ListOptions): Html {
  const { isSelectable, sorting, query, byGroup } = options;
  const heading = (key: SortKey, word: string, className: string) =>
    sortableHeading({ key, word, sorting, query, className });
  return html`<div class="overview"><table>
<caption class="hidden">Checks</caption>
<thead><tr>${
    isSelectable
      ? html`<th scope="col" class="check-pick"><span class="hidden">Selection</span><input type="checkbox" data-pick-all aria-label="Select all checks on this page"></th>`
      : ''
  }${heading('state', 'State', 'check-state')}${heading('name', 'Check', 'check-name')}<th scope="col" class="check-bars">Last runs</th>${heading('day', '24 h', 'check-figure number')}<th scope="col" class="check-figure check-week number">7 d</th>${heading('p95', 'p95', 'check-time number')}${heading('run', 'Last run', 'check-last number')}</tr></thead>
${
  byGroup
    ? groupBodies(shown, byGroup, { ...options, columns: isSelectable ? 8 : 7 })
    : html`<tbody>${shown.map((check) => checkRow(check, options))}</tbody>`
}</table></div>`;
}

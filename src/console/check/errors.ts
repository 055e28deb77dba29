import { type ErrorGroup, errorGroupRoutes } from '@picket/protocol/results/error-group.ts';
import { ago, countText, instant, shortened } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { oneLine, section, visible } from '../elements/text.ts';
import { type Content, html } from '../html.ts';
import type { PageCall } from '../page.ts';
import type { Range } from './range.ts';

const mostGroups = 100;

/** An error with its number of failed runs in the range. */
interface ErrorInRange {
  readonly group: ErrorGroup;
  readonly runs: number;
}

/** Returns the errors that ended runs of a check in a range, by descending number of runs. */
export async function errorsIn(
  { api, store }: PageCall,
  checkId: string,
  range: Range,
): Promise<ErrorInRange[]> {
  const counts = await store.results.runsByErrorGroup(checkId, range);
  if (counts.size === 0) return [];
  const groups = await api.call(errorGroupRoutes.listErrorGroupsOfCheck, {
    params: { checkId },
    query: { limit: mostGroups },
  });
  return groups
    .flatMap((group) => {
      const runs = counts.get(group.id);
      return runs === undefined ? [] : [{ group, runs }];
    })
    .sort((left, right) => right.runs - left.runs);
}

export function errorSection(errors: readonly ErrorInRange[], now: number): Content {
  if (errors.length === 0) return '';
  return section(
    'Failures by error',
    table<ErrorInRange>({
      caption: 'Errors of runs in this range, the most frequent first',
      rows: errors,
      empty: '',
      columns: [
        { title: 'Error', isWide: true, cell: ({ group }) => errorCell(group) },
        { title: 'Runs', cell: ({ runs }) => countText(runs), isNumber: true },
        { title: 'Last', cell: ({ group }) => ago(Date.parse(group.lastSeen), now), isNumber: true },
      ],
    }),
    'errors',
  );
}

function errorCell({ cleanedErrorMessage, firstSeen, rootCauseAnalyses: [newest] }: ErrorGroup): Content {
  const cause = newest
    ? html`<p class="soft">Cause: ${visible(shortened(newest.analysis.rootCause, 600))}</p>`
    : '';
  const more = html`${cause}<p class="soft">First seen ${instant(firstSeen)}</p>`;
  return oneLine(shortened(cleanedErrorMessage, 600), more);
}

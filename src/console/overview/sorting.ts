import type { OverviewOrder } from '@picket/service/overviews/overview.ts';
import { type Content, type Html, html, withQuery } from '../html.ts';
import type { ShownCheck } from './row.ts';

export type SortKey = 'state' | 'name' | 'day' | 'p95' | 'run';

export interface Sorting {
  readonly by: SortKey;
  readonly isDescending: boolean;
}

/** Whether the first click on a column sorts descending: the slowest and the newest first, but the worst state. */
const startsDescending: Readonly<Record<SortKey, boolean>> = {
  state: false,
  name: false,
  day: false,
  p95: true,
  run: true,
};

/** Reads the order from a query such as `sort=-run`: descending by last run. */
export function sortingOf(query: URLSearchParams): Sorting {
  const [, minus, word = ''] = /^(-?)(\w+)$/.exec(query.get('sort') ?? '') ?? [];
  const by = (Object.keys(startsDescending) as SortKey[]).find((key) => key === word);
  return by === undefined ? { by: 'state', isDescending: false } : { by, isDescending: minus === '-' };
}

/**
 * Returns the order of the database for all pages of the list. It stores no figures: a list that fits one page is read
 * in its usual order and sorted by `sortedByFigure`, and a longer one is read in the order of a ranking (ranked.ts).
 */
export function storedOrder({ by, isDescending }: Sorting): OverviewOrder {
  return by === 'day' || by === 'p95' ? { by: 'state', isDescending: false } : { by, isDescending };
}

/**
 * Sorts checks by a figure; those without one are last in both directions.
 *
 * @param isByGroup whether each group keeps its place, and its checks are sorted.
 */
export function sortedByFigure(
  shown: readonly ShownCheck[],
  sorting: Sorting,
  isByGroup = false,
): readonly ShownCheck[] {
  const { by, isDescending } = sorting;
  if (by !== 'day' && by !== 'p95') return shown;
  if (isByGroup) {
    const groups = Map.groupBy(shown, ({ row }) => row.groupId);
    return [...groups.values()].flatMap((own) => sortedByFigure(own, sorting));
  }
  const figureOf = ({ figures }: ShownCheck) =>
    (by === 'day' ? figures?.day.availability : figures?.day.p95Ms) ?? null;
  return shown.toSorted((left, right) => {
    const [one, other] = [figureOf(left), figureOf(right)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return (one - other) * (isDescending ? -1 : 1);
  });
}

/** A sortable heading: a link that sorts by its column, or reverses the order. */
export function sortableHeading(options: {
  readonly key: SortKey;
  readonly word: Content;
  readonly sorting: Sorting;
  /** The current query, without the page. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly className: string;
}): Html {
  const { key, word, sorting, query, className } = options;
  const isCurrent = sorting.by === key;
  const isNextDescending = isCurrent ? !sorting.isDescending : startsDescending[key];
  const sort = key === 'state' && !isNextDescending ? undefined : `${isNextDescending ? '-' : ''}${key}`;
  const order = isCurrent ? (sorting.isDescending ? 'descending' : 'ascending') : undefined;
  return html`<th scope="col" class="${className}"${order === undefined ? '' : html` aria-sort="${order}"`}><a href="${withQuery('/', { ...query, sort })}">${word}</a></th>`;
}

import { expect, it } from 'vitest';
import type { ShownCheck } from './row.ts';
import { type Sorting, sortableHeading, sortedByFigure, sortingOf, storedOrder } from './sorting.ts';

const read = (query: string) => sortingOf(new URLSearchParams(query));

it('reads the order from the address, by default the worst state first', () => {
  const usual: Sorting = { by: 'state', isDescending: false };
  expect(read('')).toEqual(usual);
  expect(read('sort=-run')).toEqual({ by: 'run', isDescending: true });
  expect(read('sort=name')).toEqual({ by: 'name', isDescending: false });
  for (const wrong of ['sort=id', 'sort=--name', 'sort=name,run', 'sort=toString', 'sort=-'])
    expect(read(wrong)).toEqual(usual);
});

it('leaves figures to the page: the database stores none', () => {
  expect(storedOrder(read('sort=-p95'))).toEqual({ by: 'state', isDescending: false });
  expect(storedOrder(read('sort=-name'))).toEqual({ by: 'name', isDescending: true });
});

it('sorts by a figure, with checks that have none at the end', () => {
  const check = (name: string, p95Ms: number | null | undefined, groupId: number | null = null) =>
    ({
      row: { name, groupId },
      figures: p95Ms === undefined ? undefined : { day: { availability: null, coverage: null, p95Ms } },
    }) as unknown as ShownCheck;
  const all = [check('none', null), check('slow', 900), check('late', undefined), check('quick', 5)];
  const names = (query: string) => sortedByFigure(all, read(query)).map(({ row }) => row.name);
  expect(names('sort=p95')).toEqual(['quick', 'slow', 'none', 'late']);
  expect(names('sort=-p95')).toEqual(['slow', 'quick', 'none', 'late']);
  expect(names('sort=name')).toEqual(['none', 'slow', 'late', 'quick']);
  const grouped = [check('a', null, 2), check('b', 900, 2), check('c', 1, 1), check('d', 950), check('e', 5)];
  expect(
    sortedByFigure(grouped, read('sort=-p95'), true)
      .map(({ row }) => row.name)
      .join(''),
  ).toBe('bacde');
});

it('links to the next order', () => {
  const heading = (query: string, key: 'state' | 'run' | 'p95') =>
    String(
      sortableHeading({
        ...{ key, word: 'Word', sorting: read(query), query: { tag: 'web' }, className: 'x' },
      }),
    );
  expect(heading('', 'state')).toContain('aria-sort="ascending"><a href="/?tag=web&amp;sort=-state">');
  expect(heading('sort=-state', 'state')).toContain('aria-sort="descending"><a href="/?tag=web">');
  expect(heading('', 'run')).toBe(
    '<th scope="col" class="x"><a href="/?tag=web&amp;sort=-run">Word</a></th>',
  );
  expect(heading('sort=-run', 'run')).toContain('href="/?tag=web&amp;sort=run"');
});

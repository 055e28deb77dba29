import { expect, it } from 'vitest';
import { checkRow, type ShownCheck } from './row.ts';

const check = (fields: Partial<ShownCheck> = {}): ShownCheck => ({
  row: {
    ...{ id: 'id', name: 'Shop', checkType: 'URL', state: 'passed', isMuted: false, groupId: null },
    ...{ tags: [], locations: [], alertState: null, lastSlotAt: null },
  },
  ...{ since: null, typeTitle: 'URL monitor', typeIcon: 'link', groupName: null, slots: [], warnings: [] },
  figures: undefined,
  ...fields,
});
const rowOf = (fields?: Partial<ShownCheck>) =>
  String(checkRow(check(fields), { now: 0, isSelectable: false }));
const figures = (availability: number | null, coverage: number | null) => {
  const window = { availability, coverage, p95Ms: null } as never;
  return { figures: { day: window, week: window } };
};

it('has skeletons until its figures are calculated', () => {
  expect(rowOf().match(/class="skeleton"/g)).toHaveLength(3);
  expect(rowOf(figures(null, null))).not.toContain('skeleton');
});

it('shows no availability without its coverage, in sight only if it is incomplete', () => {
  expect(rowOf(figures(0.995, 1))).toMatch(
    /title="All due runs were measured">99.5 %<span class="coverage hidden">all measured/,
  );
  expect(rowOf(figures(1, 0.8))).toContain('>100 %<span class="coverage coverage-low">80 % measured</span>');
  expect(rowOf(figures(1, 0.9999))).toContain('<span class="coverage">99.99 % measured</span>');
  expect(rowOf(figures(null, 0))).toContain('>–<span class="coverage coverage-low">0 % measured</span>');
});

it('has a checkbox only for viewers who may act', () => {
  expect(rowOf()).not.toContain('checkbox');
  expect(String(checkRow(check(), { now: 0, isSelectable: true }))).toContain(
    'form="bulk" name="check" value="id"',
  );
});

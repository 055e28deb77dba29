import { expect, it } from 'vitest';
import { judgeCoverage } from '../../system/faults/coverage-judge.ts';
import type { CampaignCheck, LedgerRows, ShownCounts } from '../../system/faults/history.ts';

const check = { id: 'check', intervalMs: 10_000 } as CampaignCheck;
const record = (slotAt: number, state: string, reason: string | null = null, slotCount = 1) =>
  ({ checkId: 'check', slotAt, slotCount, state, reason }) as LedgerRows['runs'][number];
const ledger: LedgerRows = {
  runs: [
    record(5_000, 'final'),
    record(15_000, 'missed', 'service-away', 4),
    record(55_000, 'missed', 'no-agent'),
    record(65_000, 'cancelled', 'deactivated'),
  ],
  results: [],
  stale: [],
};
const whole: ShownCounts = {
  checkId: 'check',
  surface: 'report',
  window: null,
  due: 7,
  final: 1,
  missed: { 'no-agent': 1, 'service-away': 4 },
  cancelled: { deactivated: 1 },
  onTheirWay: 0,
};
/** It ends within the gap. */
const part: ShownCounts = {
  ...whole,
  window: { from: 5_000, to: 35_000 },
  due: 3,
  missed: { 'service-away': 2 },
  cancelled: {},
};
const judged = (...shown: ShownCounts[]) => judgeCoverage([check], ledger, shown).map(({ code }) => code);

it('finds nothing if every surface accounts for every slot', () => {
  expect(judged(whole, part)).toEqual([]);
});

it.each<[string, Partial<ShownCounts>]>([
  ['a slot that is left out', { due: 6, missed: { 'service-away': 4 } }],
  ['a slot that is counted twice', { due: 8, final: 2 }],
  ['another reason', { missed: { 'no-agent': 2, 'service-away': 3 } }],
  ['one that is still said to be on its way', { cancelled: {}, onTheirWay: 1 }],
  ['a gap that is in the window in all or not at all', { window: part.window }],
])('finds %s', (_what, said) => {
  expect(judged({ ...whole, ...said })).toEqual(['coverage']);
});

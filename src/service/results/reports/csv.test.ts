import type { CheckReport } from '@picket/protocol/results/reporting.ts';
import { coverageOf } from '@picket/protocol/runs/coverage.ts';
import { expect, it } from 'vitest';
import { reportAsCsv } from './csv.ts';

const report: CheckReport = {
  name: 'Shop',
  checkId: 'c1',
  checkType: 'URL',
  deactivated: false,
  tags: ['a', 'b'],
  aggregate: {
    successRatio: null,
    avg: null,
    p95: null,
    p99: null,
    coverage: coverageOf([
      ['evaluated', 5],
      ['missed:no-agent', 2],
      ['missed:from-a-newer-build', 3],
      ['missed:paused-by-maintenance', 4],
      ['cancelled:deactivated', 1],
    ]),
  },
};
const cellsOf = (text: string) => {
  const [names = [], cells = []] = text.split('\r\n').map((line) => line.split(','));
  return Object.fromEntries(names.map((name, index) => [name, cells[index]]));
};
const window = { from: 0, to: 1000 };

it('has a column for every reason, an empty cell for unknown values, and sums that can be checked', () => {
  expect(cellsOf(reportAsCsv([report], window))).toMatchObject({
    from: '1970-01-01T00:00:00.000Z',
    success_percent: '',
    slots_due: '15',
    evaluated: '5',
    maintenance: '4',
    missed_no_agent: '2',
    missed_agent_lost: '0',
    cancelled_deactivated: '1',
    other_reasons: '3',
  });
});

it.each([
  ['a, "b"', '"a, ""b"""'],
  ['two\nlines', '"two\nlines"'],
  ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
  ['-1+1', "'-1+1"],
  ['@x', "'@x"],
])('writes the name %j so that spreadsheets show it and do not execute it', (name, cell) => {
  expect(reportAsCsv([{ ...report, name }], window)).toContain(`,${cell},c1,`);
});

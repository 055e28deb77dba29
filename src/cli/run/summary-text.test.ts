import type { DetailSummary } from '@picket/checks/summary/detail-summary.ts';
import { comparedText, fact } from '@picket/checks/summary/parts.ts';
import { expect, it } from 'vitest';
import { summaryLines } from './summary-text.ts';

const summary: DetailSummary = {
  phases: [
    { name: 'DNS lookup', kind: 'dns', lengthMs: 2 },
    { name: 'Proxy', kind: 'proxy', lengthMs: 0 },
  ],
  sections: [
    {
      title: 'Response',
      line: { text: '503 Busy\u001b[2J', url: 'http://shop.test/' },
      facts: [fact('Address', '192.0.2.1'), fact('Trace', null), fact('Chain', 'not trusted', 'expired')],
      headers: { 'retry-after': '30' },
      texts: comparedText('Response body', 'busy\u0007\nlater'),
      table: {
        caption: 'Pings',
        columns: [{ title: '#' }, { title: 'From' }],
        rows: [
          [1, { kind: 'code', text: '192.0.2.1' }],
          [10, '–'],
        ],
      },
    },
  ],
  assertions: [
    {
      ...{ isMet: false, subject: 'status code', comparison: 'equals', expected: '200', found: '503' },
      error: 'not equal',
    },
  ],
  log: [{ time: 0, level: 'INFO', msg: 'done', stage: 'setup' }],
};
const linesOf = (isWhole: boolean) =>
  summaryLines(summary, { width: 80, isWhole, paint: (_format, text) => text });

it('is short for a run that passed, and complete for others', () => {
  const short = [
    '  DNS lookup 2 ms',
    '  Response',
    '    503 Busy [2J  http://shop.test/',
    '    Address:  192.0.2.1',
    '    Chain:    not trusted, expired',
    '    #   From',
    '    1   192.0.2.1',
    '    10  –',
    '  failed  status code  equals 200, found 503',
    '  setup INFO: done',
  ];
  expect(linesOf(false)).toEqual(short);
  expect(linesOf(true)).toEqual(
    short.toSpliced(5, 0, '    retry-after: 30', '    Response body:', '      busy ', '      later'),
  );
});

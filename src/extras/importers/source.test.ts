import { expect, it } from 'vitest';
import { frequencyOf, statusAssertions } from './collection.ts';
import { secondsOf, wholeMatch } from './go-formats.ts';
import { type Loss, Source } from './source.ts';

it('lists unused fields at any depth', () => {
  const losses: Loss[] = [];
  const source = new Source(
    { name: 'a', deep: { known: 1, other: 2 }, list: [{ x: 1 }], empty: [], off: false },
    'm',
    losses,
  );
  expect(source.text('name')).toBe('a');
  expect(source.child('deep').number('known')).toBe(1);
  source.children('list');
  source.finish();
  expect(losses.map(({ field }) => field)).toEqual(['m.deep.other', 'm.list.0.x']);
});

it('lists fields of an unexpected form', () => {
  const losses: Loss[] = [];
  const source = new Source(
    { text: {}, count: 'x', flag: 'maybe', list: 'no', child: 'no', bad: { a: 1 } },
    '',
    losses,
  );
  source.text('bad');
  source.number('count');
  source.flag('flag');
  source.list('list');
  source.child('child');
  expect(losses.map(({ field }) => field)).toEqual(['bad', 'count', 'flag', 'list', 'child']);
});

it('reads durations', () => {
  expect(['60s', '1h30m', '500ms', '2d', 'x', '5', '1m x'].map(secondsOf)).toEqual([
    ...[60, 5400, 0.5, 172_800, undefined, undefined, undefined],
  ]);
});

it('never runs less often than the source', () => {
  const of = (type: string, seconds: number) => frequencyOf(type, seconds).seconds;
  expect([5, 10, 25, 59, 60, 90, 600, 100_000].map((seconds) => of('URL', seconds))).toEqual([
    ...[10, 10, 20, 30, 60, 60, 600, 86_400],
  ]);
  expect(of('BROWSER', 20)).toBe(60);
});

it('expresses ranges of codes where assertions can', () => {
  expect(statusAssertions([[200, 299]])).toHaveLength(2);
  expect(
    statusAssertions([
      [200, 201],
      [203, 204],
    ]),
  ).toHaveLength(3);
  expect(statusAssertions([[401, 401]])).toEqual([
    { source: 'STATUS_CODE', comparison: 'EQUALS', target: '401' },
  ]);
  expect(
    statusAssertions([
      [200, 299],
      [401, 401],
    ]),
  ).toBeUndefined();
});

it('accepts regular expressions of Go that have the same meaning', () => {
  expect(['^ok$', '(?i)up', '\\Qa.b\\E', '[[:alpha:]]', '(?P<x>a)', '('].map(wholeMatch)).toEqual([
    ...['(^ok$)', '((?i:up))', undefined, undefined, '((?<x>a))', undefined],
  ]);
});

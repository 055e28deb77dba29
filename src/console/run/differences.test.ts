import { expect, it } from 'vitest';
import type { Fact } from './compare-facts.ts';
import { differencesOf } from './differences.ts';

const fact = (group: string, name: string, value: string, more: Partial<Fact> = {}): Fact => ({
  group,
  name,
  value,
  ...more,
});
const differing = (now: Fact[], before: Fact[]) =>
  differencesOf(now, before).flatMap(({ name, before: was, now: is, isDifferent }) =>
    isDifferent ? [[name, was, is]] : [],
  );

it('lists values that changed, disappeared or are new', () => {
  const before = [fact('Response', 'Status', '200'), fact('Headers', 'server', 'nginx')];
  const now = [fact('Response', 'Status', '503'), fact('Headers', 'retry-after', '30')];
  expect(differing(now, before)).toEqual([
    ['Status', '200', '503'],
    ['retry-after', null, '30'],
    ['server', 'nginx', null],
  ]);
});

it('reports times as different only if they differ by much', () => {
  const time = (ms: number) => fact('Time', 'TLS', `${ms} ms`, { ms });
  expect(differing([time(12)], [time(5)])).toEqual([]);
  expect(differing([time(140)], [time(100)])).toEqual([]);
  expect(differing([time(200)], [time(100)])).toEqual([['TLS', '100 ms', '200 ms']]);
  // A phase without duration is not listed.
  expect(differing([time(80)], [])).toEqual([['TLS', null, '80 ms']]);
});

it('shows the first of many lines that differ, and no equal ones', () => {
  const lines = (text: string) =>
    Array.from({ length: 100 }, (_, index) =>
      fact('Body', `Line ${index + 1}`, index < 90 ? text : 'end', { isLine: true }),
    );
  const all = differencesOf(lines('new'), lines('old'));
  expect(all).toHaveLength(12);
  expect(all[0]).toMatchObject({ name: 'Line 1', before: 'old', now: 'new', isDifferent: true });
});

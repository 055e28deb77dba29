import { expect, it } from 'vitest';
import { agoText, durationMs, table } from './text.ts';

it('reads durations of minutes, hours and days', () => {
  expect(['90m', '2h', '3d', '0h', '2', 'h', '1w', '-1h'].map(durationMs)).toEqual([
    ...[5_400_000, 7_200_000, 259_200_000],
    ...Array.from({ length: 5 }, () => undefined),
  ]);
});

it('cuts the widest column, and never writes more than a line', () => {
  const lines = table(
    ['ID', 'NAME'],
    [
      ['1', 'x'.repeat(100)],
      ['2', 'short'],
    ],
    40,
  );
  expect(lines).toEqual(['ID  NAME', `1   ${'x'.repeat(35)}…`, '2   short']);
});

it('does not let a name control the terminal', () => {
  expect(table(['NAME'], [['a\u001b[31mb\r\n\u202ec']], 80)[1]).toBe('a [31mb c');
});

it('shows an age in one unit', () => {
  const now = Date.parse('2026-07-03T00:00:00Z');
  const at = ['2026-07-02T23:48:00Z', '2026-07-02T12:00:00Z', '2026-07-01T00:00:00Z'];
  expect(at.map((one) => agoText(one, now))).toEqual(['12 min', '12 h', '2 d']);
});

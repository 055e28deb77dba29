import { expect, it } from 'vitest';
import { rangeOf } from './range.ts';

const now = Date.UTC(2026, 10, 22, 12);
const query = (text: string) => new URLSearchParams(text);

it('is the longest range that shows every run on one screen', () => {
  expect(rangeOf(query(''), 10_000, now).name).toBe('1h');
  expect(rangeOf(query(''), 60_000, now).name).toBe('6h');
  expect(rangeOf(query(''), 300_000, now).name).toBe('24h');
  expect(rangeOf(query(''), 86_400_000, now).name).toBe('30d');
});

it('is the requested one, by name or by instants', () => {
  expect(rangeOf(query('range=7d'), 60_000, now)).toEqual({
    name: '7d',
    from: now - 7 * 86_400_000,
    to: now + 1,
  });
  const from = '2026-11-20T00:00:00.000Z';
  const to = '2026-11-20T01:00:00.000Z';
  expect(rangeOf(query(`from=${from}&to=${to}`), 60_000, now)).toEqual({
    name: null,
    from: Date.parse(from),
    to: Date.parse(to),
  });
});

it('is the default if the requested one is invalid', () => {
  expect(rangeOf(query('range=toString'), 60_000, now).name).toBe('6h');
  expect(rangeOf(query('from=2026-11-20T01:00:00Z&to=2026-11-20T00:00:00Z'), 60_000, now).name).toBe('6h');
});

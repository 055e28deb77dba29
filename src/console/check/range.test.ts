import { expect, it } from 'vitest';
import { hrefOf, neighbours, rangeOf, selectionOf, zoomHref } from './range.ts';

const now = Date.UTC(2026, 10, 22, 12);
const every =
  (slotMs: number) =>
  ({ from, to }: { readonly from: number; readonly to: number }) =>
    (to - from) / slotMs;
const query = (text: string) => new URLSearchParams(text);

it('is the longest range that shows every run on one screen', () => {
  expect(rangeOf(query(''), { expected: every(10_000), now }).name).toBe('1h');
  expect(rangeOf(query(''), { expected: every(60_000), now }).name).toBe('6h');
  expect(rangeOf(query(''), { expected: every(300_000), now }).name).toBe('24h');
  expect(rangeOf(query(''), { expected: every(86_400_000), now }).name).toBe('30d');
});

it('is not mostly the time before the check existed', () => {
  const young = (ageMs: number) =>
    rangeOf(query(''), { expected: every(86_400_000), now, createdAt: now - ageMs }).name;
  expect(young(60_000)).toBe('1h');
  expect(young(3 * 3_600_000)).toBe('6h');
  expect(young(2 * 86_400_000)).toBe('7d');
  expect(young(400 * 86_400_000)).toBe('30d');
});

it('is the requested one, by name or by instants', () => {
  expect(rangeOf(query('range=7d'), { expected: every(60_000), now })).toEqual({
    name: '7d',
    from: now - 7 * 86_400_000,
    to: now + 1,
  });
  const from = '2026-11-20T00:00:00.000Z';
  const to = '2026-11-20T01:00:00.000Z';
  expect(rangeOf(query(`from=${from}&to=${to}`), { expected: every(60_000), now })).toEqual({
    name: null,
    from: Date.parse(from),
    to: Date.parse(to),
  });
});

it('is the default if the requested one is invalid', () => {
  expect(rangeOf(query('range=toString'), { expected: every(60_000), now }).name).toBe('6h');
  expect(
    rangeOf(query('from=2026-11-20T01:00:00Z&to=2026-11-20T00:00:00Z'), { expected: every(60_000), now })
      .name,
  ).toBe('6h');
});

it('reads fields of forms, which have no zone, as UTC', () => {
  const { from, to } = rangeOf(query('from=2026-11-20T01:00&to=2026-11-20T02:30:15'), {
    expected: every(60_000),
    now,
  });
  expect([from, to]).toEqual([Date.UTC(2026, 10, 20, 1), Date.UTC(2026, 10, 20, 2, 30, 15)]);
});

it('has neighbours of the same length, none of them in the future', () => {
  const hour = 3_600_000;
  const last = rangeOf(query('range=1h'), { expected: every(60_000), now });
  expect(neighbours(last, now)).toMatchObject({
    earlier: { name: null, from: now - 2 * hour - 1, to: now - hour },
    later: null,
    wider: { to: now + 1, from: now + 1 - 2 * (hour + 1) },
  });
  const old = { name: null, from: now - 3 * hour, to: now - 2 * hour };
  expect(neighbours(old, now)).toEqual({
    earlier: { name: null, from: now - 4 * hour, to: now - 3 * hour },
    later: { name: null, from: now - 2 * hour, to: now - hour },
    wider: { name: null, from: now - 3.5 * hour, to: now - 1.5 * hour },
  });
  expect(neighbours({ name: null, from: now - 1.5 * hour, to: now - 0.5 * hour }, now).later?.to).toBe(
    now + 1,
  );
});

it('is kept by links of the page, with everything else that is selected', () => {
  const chosen = selectionOf('c', query('range=7d&location=lab&by=location'), {
    expected: every(60_000),
    now,
  });
  expect(hrefOf(chosen)).toBe('/checks/c?range=7d&location=lab&by=location');
  expect(hrefOf(chosen, { location: null, by: 'phase' })).toBe('/checks/c?range=7d');
  expect(zoomHref(chosen, now, now + 10_000)).toBe(
    '/checks/c?from=2026-11-22T11%3A59%3A35.000Z&to=2026-11-22T12%3A00%3A35.000Z&location=lab&by=location',
  );
});

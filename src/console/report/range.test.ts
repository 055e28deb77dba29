import { expect, it } from 'vitest';
import { choiceOf } from './range.ts';

const choice = (query: Readonly<Record<string, string>>) => choiceOf(new URLSearchParams(query));

it('is the last 30 days by default', () => {
  expect(choice({}).query).toEqual({ quickRange: 'last30Days', timezone: 'UTC' });
});

it('consists of whole calendar days of the zone, also when clocks change', () => {
  const { query } = choice({ first: '2026-03-29', last: '2026-03-29', zone: 'Europe/Berlin', tag: 'shop' });
  expect(query).toEqual({
    from: '2026-03-28T23:00:00.000Z',
    to: '2026-03-29T22:00:00.000Z',
    timezone: 'Europe/Berlin',
    filterByTags: 'shop',
  });
});

it('reports an error, and shows something anyway', () => {
  expect(choice({ zone: 'Berlin' })).toMatchObject({
    query: { timezone: 'UTC' },
    problem: expect.stringMatching(/time zone Berlin does not exist/),
  });
  const wrong: Readonly<Record<string, string>>[] = [
    { first: '2026-06-31', last: '2026-07-01' },
    { first: '2026-06-01' },
  ];
  for (const query of wrong) {
    expect(choice(query)).toMatchObject({
      query: { quickRange: 'last30Days' },
      problem: expect.stringMatching(/both days/),
    });
  }
  expect(choice({ first: '2026-07-02', last: '2026-07-01' }).problem).toMatch(/before the first/);
});

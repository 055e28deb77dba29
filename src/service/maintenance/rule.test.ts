import { describe, expect, it } from 'vitest';
import { lastEnd, occurrence, occurrenceAt, occurrencesFrom, type RepeatRule } from './rule.ts';

const hourMs = 3_600_000;
const at = (text: string) => Date.parse(text);

/** A rule whose occurrences last an hour, unless the fields say otherwise. */
function ruleFrom(
  startsAt: string,
  repeat: RepeatRule['repeat'],
  fields: Partial<RepeatRule> = {},
): RepeatRule {
  return {
    startsAt: at(startsAt),
    endsAt: at(startsAt) + hourMs,
    repeat,
    repeatEndsAt: null,
    timeZone: 'UTC',
    ...fields,
  };
}

const startsOf = (rule: RepeatRule, count: number) =>
  Array.from({ length: count }, (_, index) => occurrence(rule, index))
    .filter((one) => one !== null)
    .map(({ startsAt }) => new Date(startsAt).toISOString().slice(0, 16));

describe('occurrences', () => {
  it.each<[string, string, RepeatRule['repeat'], string[]]>([
    ['once', '2026-01-31T22:30Z', null, ['2026-01-31T22:30']],
    [
      'every third day, over a leap day',
      '2028-02-26T00:00Z',
      { interval: 3, unit: 'DAY' },
      ['2028-02-26T00:00', '2028-02-29T00:00', '2028-03-03T00:00', '2028-03-06T00:00'],
    ],
    [
      'every second week, over the end of a year',
      '2026-12-21T06:00Z',
      { interval: 2, unit: 'WEEK' },
      ['2026-12-21T06:00', '2027-01-04T06:00', '2027-01-18T06:00', '2027-02-01T06:00'],
    ],
    [
      'monthly from the 31st',
      '2027-12-31T23:59Z',
      { interval: 1, unit: 'MONTH' },
      ['2027-12-31T23:59', '2028-01-31T23:59', '2028-02-29T23:59', '2028-03-31T23:59', '2028-04-30T23:59'],
    ],
    [
      'monthly from the 30th, in a year without a leap day',
      '2026-12-30T00:00Z',
      { interval: 1, unit: 'MONTH' },
      ['2026-12-30T00:00', '2027-01-30T00:00', '2027-02-28T00:00', '2027-03-30T00:00'],
    ],
    [
      'every fifth month from the 31st',
      '2026-01-31T12:00Z',
      { interval: 5, unit: 'MONTH' },
      ['2026-01-31T12:00', '2026-06-30T12:00', '2026-11-30T12:00', '2027-04-30T12:00', '2027-09-30T12:00'],
    ],
    [
      'yearly from a leap day',
      '2028-02-29T12:00Z',
      { interval: 12, unit: 'MONTH' },
      ['2028-02-29T12:00', '2029-02-28T12:00', '2030-02-28T12:00', '2031-02-28T12:00', '2032-02-29T12:00'],
    ],
  ])('%s', (_name, startsAt, repeat, expected) => {
    const rule = ruleFrom(startsAt, repeat);
    expect(startsOf(rule, expected.length)).toEqual(expected);
    // Each is found from any instant inside it, and from none outside it.
    for (const [index, text] of expected.entries()) {
      const start = at(`${text}Z`);
      expect(occurrenceAt(rule, start)?.index).toBe(index);
      expect(occurrenceAt(rule, start + hourMs - 1)?.index).toBe(index);
      expect(occurrenceAt(rule, start - 1)).toBeNull();
      expect(occurrenceAt(rule, start + hourMs)).toBeNull();
      expect(occurrencesFrom(rule, start + hourMs - 1).next().value?.index).toBe(index);
      expect(occurrencesFrom(rule, start - 1).next().value?.index).toBe(index);
    }
  });

  it.each([
    ['2026-03-30T23:59Z', '2026-02-28T01:00Z'],
    ['2026-03-31T00:00Z', '2026-03-31T01:00Z'],
    ['2026-01-31T00:00Z', '2026-01-31T01:00Z'],
  ])('end with the one that starts last, by %s', (repeatEndsAt, end) => {
    const rule = ruleFrom(
      '2026-01-31T00:00Z',
      { interval: 1, unit: 'MONTH' },
      { repeatEndsAt: at(repeatEndsAt) },
    );
    expect(lastEnd(rule)).toBe(at(end));
    expect([...occurrencesFrom(rule, 0)].at(-1)?.endsAt).toBe(at(end));
    expect([...occurrencesFrom(rule, at(end))]).toEqual([]);
    expect(occurrenceAt(rule, at('2026-04-30T00:00Z'))).toBeNull();
  });

  it('overlap when they last longer than their interval', () => {
    const startsAt = '2026-01-01T00:00Z';
    const rule = ruleFrom(startsAt, { interval: 1, unit: 'DAY' }, { endsAt: at(startsAt) + 60 * hourMs });
    expect(occurrenceAt(rule, at('2026-01-04T10:00Z'))?.index).toBe(1);
    expect(occurrencesFrom(rule, at('2026-01-04T10:00Z')).next().value?.index).toBe(1);
    expect(occurrencesFrom(rule, at('2026-01-04T12:00Z')).next().value?.index).toBe(2);
  });

  it('are found at once among millions', () => {
    const startsAt = '1970-01-01T00:00Z';
    const rule = ruleFrom(startsAt, { interval: 1, unit: 'DAY' }, { endsAt: at('9998-01-01T00:00Z') });
    expect(occurrencesFrom(rule, at('9998-01-11T12:00Z')).next().value?.index).toBe(11);
    expect(occurrenceAt(rule, at('2026-01-01T00:00Z'))?.index).toBe(0);
    // Later ones would end in a year with five digits.
    expect(occurrenceAt(rule, at('9999-12-31T12:00Z'))).toBeNull();
  });

  it('have an end or no end', () => {
    expect(lastEnd(ruleFrom('2026-01-01T00:00Z', null))).toBe(at('2026-01-01T01:00Z'));
    expect(lastEnd(ruleFrom('2026-01-01T00:00Z', { interval: 1, unit: 'DAY' }))).toBeNull();
  });
});

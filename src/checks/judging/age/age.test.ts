import { parseJson } from '@picket/lib/json/json-document.ts';
import { describe, expect, it } from 'vitest';
import { ageMismatch, ageMs, ageProblem } from './age.ts';
import { instantOf } from './instant.ts';

const at = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('an instant', () => {
  it.each<[unknown, number | undefined]>([
    ['Sun, 06 Nov 1994 08:49:37 GMT', at],
    ['Sunday, 06-Nov-94 08:49:37 GMT', at],
    ['Sun Nov  6 08:49:37 1994', at],
    ['Sun, 6 Nov 1994 09:49:37 +0100', at],
    ['1994-11-06T08:49:37Z', at],
    ['1994-11-06T09:49:37+01:00', at],
    ['1994-11-06 08:49:37', at],
    ['1994-11-06T08:49:37.250Z', at + 250],
    ['1994-11-06T08:49:37.250123456z', at + 250],
    ['1994-11-06T08:49Z', at - 37_000],
    ['1994-11-06', Date.UTC(1994, 10, 6)],
    ['2016-12-31T23:59:60Z', Date.UTC(2016, 11, 31, 23, 59, 59)],
    [784111777, at],
    ['784111777', at],
    [784111777000, at],
    ['784111777.5', at + 500],
    ['1994-02-30', undefined],
    ['1994-13-01', undefined],
    ['1994-11-06T25:00Z', undefined],
    ['06/11/1994', undefined],
    ['yesterday', undefined],
    ['', undefined],
    ['5 min', undefined],
    [5, undefined],
    [20261128, undefined],
    [parseJson('1e400'), undefined],
    [null, undefined],
    [{}, undefined],
    [`${' '.repeat(100_000)}x`, undefined],
  ])('%j', (value, expected) => {
    expect(instantOf(value)).toBe(expected);
  });
});

describe('an age', () => {
  it('has a unit', () => {
    expect(['10m', '10 min', '90s', '1.5 h', '7d', '500ms'].map(ageMs)).toEqual([
      ...[600_000, 600_000, 90_000, 5_400_000, 604_800_000, 500],
    ]);
    expect(['10', '-1m', '', 'PT10M', '10 apples'].map(ageMs)).toEqual(new Array(5).fill(undefined));
    expect(ageProblem('10')).toBe('"10" is not an age: write a number and ms, s, m, h or d, such as 10m');
  });

  const tenMinutes = { ms: 600_000 };
  const young = (value: unknown, nowMs: number) => ageMismatch(value, { ...tenMinutes, isLess: true }, nowMs);
  const old = (value: unknown, nowMs: number) => ageMismatch(value, { ...tenMinutes, isLess: false }, nowMs);
  const date = new Date(at).toUTCString();

  it('is judged by the clock of the agent', () => {
    expect(young(date, at + 599_999)).toBeNull();
    expect(young(date, at + 600_000)).toBe(
      'which was 10 min ago by the clock of the agent, 1994-11-06T08:59:37.000Z',
    );
    expect(old(date, at + 600_000)).toBeNull();
    expect(old(date, at + 1000)).toMatch(/^which was 1 s ago/);
  });

  it('of a date in the future fails both ways, beyond what clocks differ', () => {
    expect(young(date, at - 60_000)).toBeNull();
    expect(young(date, at - 61_000)).toMatch(
      /^which is 1 min 1 s in the future by the clock of the agent, 1994/,
    );
    expect(old(date, at - 61_000)).toMatch(/in the future/);
  });

  it('of what is no date fails both ways', () => {
    expect(young('soon', at)).toMatch(/^which is neither an HTTP date, nor ISO 8601/);
    expect(old(undefined, at)).toMatch(/neither/);
  });
});

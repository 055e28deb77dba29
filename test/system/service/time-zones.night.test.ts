import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { localTime } from '../../../src/lib/time-zone.ts';
import { occurrence } from '../../../src/service/maintenance/rule.ts';

/** Every kind of rule: both hemispheres, half hours, Ramadan, a shift across the date line, no changes at all. */
const zones = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'Africa/Johannesburg',
  'Africa/Lagos',
  'America/Anchorage',
  'America/Argentina/Buenos_Aires',
  'America/Bogota',
  'America/Caracas',
  'America/Chicago',
  'America/Denver',
  'America/Halifax',
  'America/Havana',
  'America/Los_Angeles',
  'America/Mexico_City',
  'America/New_York',
  'America/Nuuk',
  'America/Phoenix',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Asia/Dubai',
  'Asia/Gaza',
  'Asia/Hong_Kong',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Seoul',
  'Asia/Tehran',
  'Asia/Tokyo',
  'Atlantic/Azores',
  'Australia/Adelaide',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Europe/Berlin',
  'Europe/Dublin',
  'Europe/London',
  'Europe/Moscow',
  'Pacific/Apia',
  'Pacific/Auckland',
  'Pacific/Chatham',
];
const years = { from: 2000, to: 2030 };
const dayMs = 86_400_000;
const whyNot = existsSync('/usr/share/zoneinfo/tzdata.zi') ? null : 'no time zone database on this host';

/**
 * The year from which two releases of the database may differ: each contains the decisions up to its date. `2025b` and
 * `2026c` may differ from 2025 on; equal releases never differ.
 */
function mayDifferFrom(): number {
  const [, system = ''] = /version (\w+)/.exec(readFileSync('/usr/share/zoneinfo/tzdata.zi', 'utf8')) ?? [];
  const own = process.versions.tz ?? '';
  return system === own
    ? Number.POSITIVE_INFINITY
    : Date.UTC(Number.parseInt([system, own].sort()[0] ?? '', 10), 0);
}

/** The output of the system's `zdump`: the UTC offset on both sides of every clock change. */
function systemChanges(zone: string): { at: number; offsetSeconds: number }[] {
  const text = execFileSync('zdump', ['-v', '-c', `${years.from},${years.to}`, zone], { encoding: 'utf8' });
  return [...text.matchAll(/ {2}(\w{3} \w{3} +\d+ [\d:]+ \d{4}) UT = .* gmtoff=(-?\d+)/g)].map(
    ([, date, offset]) => ({ at: Date.parse(`${date} UTC`), offsetSeconds: Number(offset) }),
  );
}

const offsetOf = (at: number, zone: string) =>
  (Date.parse(`${localTime(at, zone).toString({ smallestUnit: 'second' })}Z`) - at) / 1000;

it.skipIf(whyNot)(
  `clock changes of 40 zones in 30 years equal those of the system${whyNot ? `: ${whyNot}` : ''}`,
  () => {
    let compared = 0;
    const others: string[] = [];
    const since = mayDifferFrom();
    const newer = new Set<string>();
    for (const zone of zones) {
      for (const { at, offsetSeconds } of systemChanges(zone)) {
        compared += 1;
        if (offsetOf(at, zone) === offsetSeconds) continue;
        if (at < since) others.push(`${zone} ${new Date(at).toISOString()}`);
        else newer.add(zone);
      }
    }
    expect(zones).toHaveLength(40);
    expect(compared).toBeGreaterThan(2_500);
    expect(others).toEqual([]);
    // Rules that one of the two releases lacks: a country or two.
    expect([...newer].length).toBeLessThanOrEqual(2);
  },
);

it.skipIf(whyNot)('daily windows start at their local time according to the system', () => {
  const wrong: string[] = [];
  const since = mayDifferFrom();
  for (const zone of zones) {
    const startsAt = Date.UTC(years.from, 0, 1, 12, 30);
    const rule = {
      startsAt,
      endsAt: startsAt + 3_600_000,
      repeat: { interval: 1, unit: 'DAY' } as const,
      repeatEndsAt: null,
      timeZone: zone,
    };
    const days = new Set(systemChanges(zone).map(({ at }) => Math.floor((at - startsAt) / dayMs) + 1));
    const starts = [...days].filter((day) => day > 0).map((day) => occurrence(rule, day)?.startsAt ?? 0);
    const seconds = [startsAt, ...starts].map((at) => `@${at / 1000}`).join('\n');
    const shown = execFileSync('date', ['-f', '-', '+%H:%M'], {
      input: seconds,
      encoding: 'utf8',
      env: { ...process.env, TZ: zone },
    });
    const [first, ...times] = shown.trim().split('\n');
    for (const [index, time] of times.entries()) {
      const start = starts[index] ?? 0;
      if (time === first || start >= since) continue;
      wrong.push(`${zone} ${new Date(start).toISOString()}: ${time}, not ${first}`);
    }
  }
  expect(wrong).toEqual([]);
});

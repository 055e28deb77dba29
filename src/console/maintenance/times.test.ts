import { expect, it } from 'vitest';
import { inZone } from '../elements/zoned-time.ts';
import { instantText, localText, ruleWords } from './times.ts';

it('interprets dates of a form in the time zone of the window, in winter and in summer', () => {
  expect(instantText('2026-01-10T08:00', 'Europe/Berlin')).toBe('2026-01-10T07:00:00.000Z');
  expect(instantText('2026-07-10T08:00', 'Europe/Berlin')).toBe('2026-07-10T06:00:00.000Z');
  expect(localText('2026-07-10T06:00:00.000Z', 'Europe/Berlin')).toBe('2026-07-10T08:00');
  expect(localText('2026-07-10T06:00:07.000Z', 'UTC')).toBe('2026-07-10T06:00:07');
});

it.each(['', 'tomorrow', '2026-02-31T10:00', '2026-01-10T08:00Z', '<script>'])(
  'leaves an invalid local time for the schema to refuse: %s',
  (text) => expect(instantText(text, 'Europe/Berlin')).toBe(text),
);

it('reads dates of an unknown zone as UTC, so that only the zone is refused', () => {
  expect(instantText('2026-01-10T08:00', 'Mars/Olympus')).toBe('2026-01-10T08:00:00.000Z');
  expect(inZone(Date.UTC(2026, 0, 10, 8), 'Mars/Olympus')).toBe('Sat, 10 Jan 2026, 08:00 UTC');
});

it('describes how a window recurs', () => {
  const once = { repeatInterval: null, repeatUnit: null, repeatEndsAt: null };
  expect(ruleWords(once)).toBe('once');
  expect(ruleWords({ ...once, repeatInterval: 1, repeatUnit: 'WEEK' })).toBe('every week');
  const limited = { repeatInterval: 2, repeatUnit: 'MONTH', repeatEndsAt: '2026-12-01T00:00:00Z' } as const;
  expect(ruleWords({ ...limited, timezone: 'Europe/Berlin' })).toBe(
    'every 2 months until Tue, 1 Dec 2026, 01:00 Europe/Berlin',
  );
});

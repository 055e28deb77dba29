const lengths = { minute: 16, second: 19 } as const;

/** An instant in UTC as people read it: `2026-11-12 09:30 UTC`. */
export function utcText(at: number | string, precision: keyof typeof lengths = 'minute'): string {
  return `${isoText(at).slice(0, lengths[precision]).replace('T', ' ')} UTC`;
}

/** The same for programs. */
export function isoText(at: number | string): string {
  return typeof at === 'number' ? new Date(at).toISOString() : at;
}

/** The day of an instant in UTC: `2026-11-12`. */
export function utcDay(at: number | string): string {
  return isoText(at).slice(0, 10);
}

const days = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** The same as people say it: `12 Nov 2026`. */
export function dayText(at: number | string): string {
  return days.format(new Date(at));
}

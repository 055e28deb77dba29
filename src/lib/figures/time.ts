const lengths = { minute: 16, second: 19 } as const;

/** Formats an instant in UTC for people: `2026-11-12 09:30 UTC`. */
export function utcText(at: number | string, precision: keyof typeof lengths = 'minute'): string {
  return `${isoText(at).slice(0, lengths[precision]).replace('T', ' ')} UTC`;
}

/** Formats an instant for programs (ISO 8601). */
export function isoText(at: number | string): string {
  return typeof at === 'number' ? new Date(at).toISOString() : at;
}

/** Returns the UTC day of an instant: `2026-11-12`. */
export function utcDay(at: number | string): string {
  return isoText(at).slice(0, 10);
}

/** Made when it is first used: the first one costs a thread 10 to 30 ms. */
let days: Intl.DateTimeFormat | undefined;

/** Formats the day of an instant for people: `12 Nov 2026`. */
export function dayText(at: number | string): string {
  days ??= new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return days.format(new Date(at));
}

import { counted } from './count.ts';

const dayMs = 86_400_000;

/** Returns the whole days until an instant: 0 on the last day, -1 from the instant on. */
export function daysLeft(atMs: number, nowMs: number): number {
  return Math.floor((atMs - nowMs) / dayMs);
}

/** The same as text: `in 12 days`, `within a day`, `3 days ago`. */
export function daysLeftText(days: number): string {
  if (days === 0) return 'within a day';
  if (days > 0) return `in ${counted(days, 'day')}`;
  return days === -1 ? 'less than a day ago' : `${counted(-days - 1, 'day')} ago`;
}

/** Describes the expiry of a certificate: `expires in 12 days`, `expired 3 days ago`. */
export function expiryText(days: number): string {
  return `${days < 0 ? 'expired' : 'expires'} ${daysLeftText(days)}`;
}

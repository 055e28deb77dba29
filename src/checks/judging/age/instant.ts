import { isJsonNumber } from '@picket/lib/json/exact-number.ts';

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** RFC 3339 and what is common of ISO 8601: a day, or a day and a time with an offset; UTC without an offset. */
const iso =
  /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
/** RFC 9110 section 5.6.7 in its preferred form, and RFC 5322 section 3.3, which feeds and mails have. */
const fixDate =
  /^(?:[a-z]{3},\s*)?(\d{1,2})\s+([a-z]{3})\s+(\d{4})\s+(\d{2}):(\d{2})(?::(\d{2}))?\s*(GMT|UTC?|Z|[+-]\d{4})$/i;
/** RFC 9110 section 5.6.7, obsolete: RFC 850 and asctime. */
const rfc850Date = /^[a-z]{6,9},\s*(\d{2})-([a-z]{3})-(\d{2})\s+(\d{2}):(\d{2}):(\d{2})\s+GMT$/i;
const asctimeDate = /^[a-z]{3}\s+([a-z]{3})\s+(\d{1,2})\s+(\d{2}):(\d{2}):(\d{2})\s+(\d{4})$/i;

const longestDate = 64;

/** Seconds until the year 5138; greater numbers are milliseconds. */
const mostSeconds = 1e11;
/** Milliseconds that a Date can hold (ECMA-262 section 21.4.1.1). */
const mostMs = 8.64e15;

interface Parts {
  readonly year: string | number | undefined;
  /** 1 is January. */
  readonly month: string | number | undefined;
  readonly day: string | undefined;
  readonly hour?: string | undefined;
  readonly minute?: string | undefined;
  readonly second?: string | undefined;
  /** Digits after the decimal point of the second. */
  readonly fraction?: string | undefined;
  readonly offset?: string | undefined;
}

/**
 * Returns the instant that a value names, in milliseconds of Unix time; undefined if it names none: an HTTP date, ISO
 * 8601, or Unix time in seconds or milliseconds, as a number or a text.
 */
export function instantOf(value: unknown): number | undefined {
  if (isJsonNumber(value)) return unixTime(Number(value));
  if (typeof value !== 'string' || value.length > longestDate) return undefined;
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) return unixTime(Number(text));
  const parts = partsOf(text);
  return parts && utcMs(parts);
}

function unixTime(value: number): number | undefined {
  // Numbers such as 20261128 or 5 are no times of today's systems: everything before 1973 is refused.
  if (!Number.isFinite(value) || value < 1e8 || value > mostMs) return undefined;
  return value < mostSeconds ? value * 1000 : value;
}

function partsOf(text: string): Parts | undefined {
  let found = iso.exec(text);
  if (found) {
    const [, year, month, day, hour, minute, second, fraction, offset] = found;
    return { year, month, day, hour, minute, second, fraction, offset };
  }
  found = fixDate.exec(text);
  if (found) {
    const [, day, month, year, hour, minute, second, offset] = found;
    return { year, month: monthOf(month), day, hour, minute, second, offset };
  }
  found = rfc850Date.exec(text);
  if (found) {
    const [, day, month, year, hour, minute, second] = found;
    return { year: fullYear(Number(year)), month: monthOf(month), day, hour, minute, second };
  }
  found = asctimeDate.exec(text);
  if (!found) return undefined;
  const [, month, day, hour, minute, second, year] = found;
  return { year, month: monthOf(month), day, hour, minute, second };
}

function monthOf(name: string | undefined): number {
  return months.indexOf(String(name).toLowerCase()) + 1;
}

/** RFC 9110: a year of two digits that seems to be more than 50 years ahead is of the past century. */
function fullYear(short: number): number {
  const now = new Date().getUTCFullYear();
  const year = now - (now % 100) + short;
  return year > now + 50 ? year - 100 : year;
}

function utcMs(parts: Parts): number | undefined {
  const [year, month, day] = [Number(parts.year), Number(parts.month), Number(parts.day)];
  const [hour, minute, second] = [parts.hour, parts.minute, parts.second].map((part) =>
    Number(part ?? 0),
  ) as [number, number, number];
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  // A day such as 31 February would become one of March.
  if (at.getUTCMonth() !== month - 1 || at.getUTCDate() !== day) return undefined;
  // A leap second is the last second of its minute here, as in Unix time.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const fractionMs = parts.fraction === undefined ? 0 : Number(`0.${parts.fraction}`) * 1000;
  const ms = at.setUTCHours(hour, minute, Math.min(second, 59), fractionMs) - offsetMs(parts.offset);
  return Number.isFinite(ms) ? ms : undefined;
}

function offsetMs(offset: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset ?? '') ?? [];
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes ?? 0)) * 60_000;
}

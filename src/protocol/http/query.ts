import { z } from 'zod';

/** `limit` and `page` of list operations (spec.md, Limits). */
export const Paging = {
  limit: z.coerce.number().int().min(1).max(100).default(10).describe('Items per page'),
  page: z.coerce.number().int().min(1).max(1_000_000_000).default(1),
};

/** A boolean in a query string. */
export const QueryBoolean = z.stringbool({
  truthy: ['true', '1'],
  falsy: ['false', '0'],
  case: 'insensitive',
});

/** A point in time in a query string: Unix seconds or milliseconds (above 1e11), or an ISO 8601 date. */
export const Timestamp = z
  .string()
  .refine((text) => parseTimestamp(text) !== null, 'must be a Unix timestamp or an ISO 8601 date that exists')
  .describe('Unix timestamp in seconds or milliseconds, or ISO 8601');

/** The last instant with a four-digit year in ISO 8601, in epoch milliseconds. */
export const maxEpochMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** An instant in a body, in epoch milliseconds, limited to instants that responses can show as a date. */
export const EpochMs = z.int().min(0).max(maxEpochMs);

/** A date and time with an offset, limited to years that responses can show. */
export const OffsetDateTime = z.iso.datetime({ offset: true }).refine((text) => {
  const epochMs = Date.parse(text);
  return epochMs >= 0 && epochMs <= maxEpochMs;
}, 'must lie between the years 1970 and 9999');

/** Converts a `Timestamp` to epoch milliseconds; null if it is invalid. */
export function parseTimestamp(text: string): number | null {
  if (/^\d{1,16}(\.\d+)?$/.test(text)) {
    const value = Number(text);
    const epochMs = Math.floor(value > 1e11 ? value : value * 1000);
    return epochMs <= maxEpochMs ? epochMs : null;
  }
  const [, date] = /^(\d{4}-\d{2}-\d{2})([T ]|$)/.exec(text) ?? [];
  if (date === undefined || !isDay(date)) return null;
  const epochMs = Date.parse(text);
  return Number.isNaN(epochMs) || Math.abs(epochMs) > maxEpochMs ? null : epochMs;
}

/** Whether a month has the day: `Date` reads 30 February as 2 March. */
function isDay(date: string): boolean {
  return z.iso.date().safeParse(date).success;
}

/** The instant that a query names, in epoch milliseconds. */
export function instantOf(timestamp: string | undefined): number | undefined {
  return timestamp === undefined ? undefined : (parseTimestamp(timestamp) ?? undefined);
}

/** A database-assigned number as an object's id in a path. */
export const NumericId = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

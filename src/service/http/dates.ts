import { parseTimestamp } from '../../protocol/http/query.ts';

/** An instant as answers write it. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same for one that may not be. */
export function optionalIso(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}

/** The instant that a query names, in epoch milliseconds. */
export function instantOf(timestamp: string | undefined): number | undefined {
  return timestamp === undefined ? undefined : (parseTimestamp(timestamp) ?? undefined);
}

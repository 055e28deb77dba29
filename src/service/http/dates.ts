/** An instant as answers write it. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same for one that may not be. */
export function optionalIso(epochMs: number | null): string | null {
  return epochMs === null ? null : iso(epochMs);
}

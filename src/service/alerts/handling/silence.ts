/** Suppresses notifications of some checks until a time. */
export interface Silence {
  readonly id: string;
  readonly accountId: string;
  /** Exactly one of the three is set: one check, checks with any of these tags, or all checks at one location. */
  readonly checkId: string | null;
  readonly tags: readonly string[] | null;
  readonly location: string | null;
  /** Epoch milliseconds. */
  readonly endsAt: number;
}

/** Whether a silence may apply to a check; a silence of a location also depends on where the check failed. */
export function concerns(
  silence: Silence,
  check: { readonly id: string; readonly accountId: string; readonly tags: readonly string[] },
): boolean {
  if (silence.accountId !== check.accountId) return false;
  if (silence.checkId !== null) return silence.checkId === check.id;
  return silence.location !== null || (silence.tags ?? []).some((tag) => check.tags.includes(tag));
}

/**
 * Silence that holds back news from the given locations, or null. All locations must be silenced, and it ends as soon
 * as the first of them is no longer silenced.
 *
 * @param silences those that concern the check.
 */
export function silenceAt(silences: readonly Silence[], locations: readonly string[]): Silence | null {
  const wholes = silences.filter(({ location }) => location === null);
  const ofEach = [...new Set(locations)].map((name) =>
    longest([...wholes, ...silences.filter(({ location }) => location === name)]),
  );
  if (ofEach.length === 0) return longest(wholes);
  return ofEach.reduce((first, one) => (first && one && first.endsAt <= one.endsAt ? first : first && one));
}

function longest(silences: readonly Silence[]): Silence | null {
  return silences.reduce<Silence | null>(
    (last, one) => (last && last.endsAt >= one.endsAt ? last : one),
    null,
  );
}

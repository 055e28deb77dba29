import type { Fact } from './compare-facts.ts';

/** What one run says of something, and what another did. */
export interface Difference {
  readonly group: string;
  readonly name: string;
  /** null where a run says nothing of it. */
  readonly before: string | null;
  readonly now: string | null;
  readonly isDifferent: boolean;
  readonly isVolatile: boolean;
}

/** A time differs from another when it is half as long again, and by more than a network's moods. */
const [ratio, leastMs] = [1.5, 10];
/** Of a group in which much differs, such as the lines of a body, the beginning is shown. */
const mostOfGroup = 12;

/** Compares two runs, fact by fact, in the order in which the later one tells them. */
export function differencesOf(now: readonly Fact[], before: readonly Fact[]): Difference[] {
  const keyOf = ({ group, name }: Fact) => `${group}\n${name}`;
  const [late, early] = [now, before].map((facts) => new Map(facts.map((fact) => [keyOf(fact), fact])));
  const groups = [...new Set([...now, ...before].map(({ group }) => group))];
  return groups.flatMap((group) => {
    const facts = [...now, ...before].filter((fact) => fact.group === group);
    const keys = [...new Set(facts.map(keyOf))];
    let shown = 0;
    return keys.flatMap((key) => {
      const [one, other] = [late?.get(key), early?.get(key)];
      const [, name = ''] = key.split('\n');
      const isDifferent = differ(one, other);
      if (isDifferent) shown += 1;
      if (isDifferent ? shown > mostOfGroup : (one ?? other)?.isLine) return [];
      return [
        {
          group,
          name,
          before: other?.value ?? null,
          now: one?.value ?? null,
          isDifferent,
          isVolatile: (one ?? other)?.isVolatile ?? false,
        },
      ];
    });
  });
}

function differ(one: Fact | undefined, other: Fact | undefined): boolean {
  // A phase that took no time is in no list.
  const [late, early] = [one?.ms, other?.ms];
  if (late !== undefined || early !== undefined) {
    const [short, long] = [Math.min(late ?? 0, early ?? 0), Math.max(late ?? 0, early ?? 0)];
    return long - short > leastMs && long > short * ratio;
  }
  return one?.value !== other?.value;
}

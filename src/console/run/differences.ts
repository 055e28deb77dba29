import type { Fact, FactKind } from './compare-facts.ts';

/** A fact of one run next to that of another. */
export interface Difference {
  readonly group: string;
  readonly name: string;
  /** null if the run lacks the fact. */
  readonly before: string | null;
  readonly now: string | null;
  readonly isDifferent: boolean;
  readonly isVolatile: boolean;
  readonly kind?: FactKind | undefined;
}

/** Durations differ if one is more than 1.5 times the other, and beyond network jitter. */
const [ratio, leastMs] = [1.5, 10];
/** For a group with many differences, such as the lines of a body, only the first are shown. */
const mostOfGroup = 12;

/** Compares two runs, fact by fact, in the order of the later one. */
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
          kind: (one ?? other)?.kind,
        },
      ];
    });
  });
}

function differ(one: Fact | undefined, other: Fact | undefined): boolean {
  // A phase without duration is in no list.
  const [late, early] = [one?.ms, other?.ms];
  if (late !== undefined || early !== undefined) {
    const [short, long] = [Math.min(late ?? 0, early ?? 0), Math.max(late ?? 0, early ?? 0)];
    return long - short > leastMs && long > short * ratio;
  }
  return one?.value !== other?.value;
}

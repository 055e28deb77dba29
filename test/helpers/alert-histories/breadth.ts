import { type History, minuteMs, randomOf, type Span, stepMs } from './history.ts';

/** Optional features of histories. Each was added later, without changing the base history of a seed. */
export const breadths = ['minutes', 'places', 'flapping', 'heartbeats'] as const;
export type Breadth = (typeof breadths)[number];

/** The features that the seed selects: each has a chance of one in four. */
export function breadthsOf(seed: number): Breadth[] {
  const random = randomOf(seed * 15_485_863 + 3);
  return breadths.filter(() => random() < 0.25);
}

/** Adds the wanted features to a history. */
export function widened(history: History, wanted: readonly Breadth[]): History {
  return wanted.reduce((wide, breadth) => {
    const random = randomOf(history.seed * 32_452_843 + breadths.indexOf(breadth));
    return widen[breadth](wide, {
      chance: (part) => random() < part,
      below: (count) => Math.floor(random() * count),
      time: (from, to) => Math.floor((from + random() * (to - from)) / stepMs) * stepMs,
    });
  }, history);
}

interface Dice {
  chance(part: number): boolean;
  below(count: number): number;
  time(from: number, to: number): number;
}

const widen: Readonly<Record<Breadth, (history: History, dice: Dice) => History>> = {
  /** Channels are notified after minutes of failure instead of failed runs. */
  minutes: (history, { chance }) => ({
    ...history,
    checks: history.checks.map((check) =>
      chance(0.7) ? { ...check, escalationMinutes: chance(0.7) ? 5 : 10 } : check,
    ),
  }),
  /** Checks run at several locations; some locations have no agent for a while. */
  places: (history, { chance, below, time }) => {
    const count = 2 + below(2);
    const all = Array.from({ length: count }, (_, place) => place);
    return {
      ...history,
      checks: history.checks.map((check) => {
        const first = below(count);
        const places = [...all.slice(first), ...all.slice(0, first)].slice(0, 1 + below(count));
        return { ...check, places, isParallel: chance(0.5) };
      }),
      deaths: all.map(() => {
        if (chance(0.4)) return [];
        const from = time(3 * minuteMs, 45 * minuteMs);
        return [{ from, to: time(from + 3 * minuteMs, from + 20 * minuteMs) }];
      }),
    };
  },
  /** Hosts go down and up repeatedly. */
  flapping: (history, { chance, time }) => ({
    ...history,
    checks: history.checks.map((check) => ({ ...check, isFlapWatched: chance(0.7) })),
    outages: history.outages.map((spans) => (chance(0.3) ? spans : changing(time))),
  }),
  /** Jobs that ping while their host is up. */
  heartbeats: (history, { chance }) => ({
    ...history,
    checks: history.checks.map((check) => ({ ...check, isHeartbeat: chance(0.6) })),
  }),
};

function changing(time: Dice['time']): Span[] {
  const spans: Span[] = [];
  const begin = time(2 * minuteMs, 30 * minuteMs);
  const end = time(begin + 10 * minuteMs, begin + 30 * minuteMs);
  for (let from = begin; from < end; ) {
    const to = time(from + minuteMs, from + 4 * minuteMs);
    spans.push({ from, to });
    from = time(to + minuteMs, to + 4 * minuteMs);
  }
  return spans;
}

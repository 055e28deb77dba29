import { expect, it } from 'vitest';
import { breadthsOf, widened } from '../../helpers/alert-histories/breadth.ts';
import {
  type History,
  historyOf,
  minuteMs,
  type PlannedCheck,
  plainCheck,
} from '../../helpers/alert-histories/history.ts';
import { liveThrough } from '../../helpers/alert-histories/stage.ts';
import { isNight } from '../../helpers/night.ts';

const perRound = 30;
const rounds = isNight ? 40 : 1;

// The long form with 100,000 histories: npm run bench -- alert-histories
it('report each outage in time, close each incident once, and send hardly more than one message per cause', {
  timeout: isNight ? 900_000 : 180_000,
}, async () => {
  const violations: string[] = [];
  const counts = { due: 0, messages: 0, causes: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const seeds = Array.from({ length: perRound }, (_, index) => 1 + round * perRound + index);
    const histories = seeds.map((seed) => widened(historyOf(seed), breadthsOf(seed)));
    for (const verdict of await liveThrough(histories)) {
      violations.push(...verdict.violations);
      counts.due += verdict.due;
      counts.messages += verdict.messages;
      counts.causes += verdict.causes;
    }
  }
  expect(violations).toEqual([]);
  expect(counts.due).toBeGreaterThan(rounds * perRound);
  expect(counts.messages / counts.causes).toBeLessThanOrEqual(1.1);
});

const check: PlannedCheck = {
  ...plainCheck,
  ...{ host: 0, intervalMs: minuteMs, offsetMs: 5_000, isGrouped: false, threshold: 1, createdAt: 0 },
};

/** A history in which one host is down from the third minute to the twentieth. */
function historyWith(fields: Partial<History>): History {
  return {
    ...{ seed: 0, checks: [check], outages: [[{ from: 3 * minuteMs, to: 20 * minuteMs }]], deeds: [] },
    deaths: [[]],
    ...{ hasChat: true, endsAt: 45 * minuteMs, ...fields },
  };
}

it('groups the failure of a check that was deactivated for seconds with its cause, if another one still fails', async () => {
  const [verdict] = await liveThrough([
    historyWith({
      checks: [check, { ...check, offsetMs: 50_000 }],
      deeds: [
        { at: 10 * minuteMs + 20_000, deed: { kind: 'deactivate', check: 0 } },
        { at: 10 * minuteMs + 40_000, deed: { kind: 'activate', check: 0 } },
      ],
    }),
  ]);
  expect(verdict).toMatchObject({ violations: [], due: 6 });
});

it('does not list a check as joined that was muted between its alert and that message', async () => {
  const [verdict] = await liveThrough([
    historyWith({
      // The others fail by it first; the message about the two that join is sent a minute later.
      checks: [check, { ...check, offsetMs: 30_000 }, { ...check, offsetMs: 40_000 }],
      outages: [[{ from: 3 * minuteMs, to: 20 * minuteMs }]],
      deeds: [{ at: 3 * minuteMs + 45_000, deed: { kind: 'mute', check: 1 } }],
    }),
  ]);
  expect(verdict?.violations).toEqual([]);
});

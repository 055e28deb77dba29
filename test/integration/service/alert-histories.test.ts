import { expect, it } from 'vitest';
import { liveThrough } from '../../helpers/alert-histories/stage.ts';
import { isNight } from '../../helpers/night.ts';

const perRound = 40;
const rounds = isNight ? 100 : 1;

// The long form of 100,000 histories: npm run bench -- alert-histories
it('tell each outage in time, end each incident once, and send hardly more than a message for a cause', async () => {
  const violations: string[] = [];
  const counts = { due: 0, messages: 0, causes: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const seeds = Array.from({ length: perRound }, (_, index) => 1 + round * perRound + index);
    for (const verdict of await liveThrough(seeds)) {
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

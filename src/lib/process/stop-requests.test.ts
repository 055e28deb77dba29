import { expect, it } from 'vitest';
import { StopRequests, sameStopMs } from './stop-requests.ts';

it('signals soon after the first repeat the same request, and later ones ask to hurry', () => {
  let nowMs = 5000;
  const requests = new StopRequests(() => nowMs);
  const takeAfter = (ms: number) => {
    nowMs += ms;
    return requests.take();
  };
  expect([0, 0, 1, sameStopMs - 2, 1, 0].map(takeAfter)).toEqual([
    'stop',
    'same',
    'same',
    'same',
    'hurry',
    'hurry',
  ]);
});

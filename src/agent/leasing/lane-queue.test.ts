import { expect, it } from 'vitest';
import { LaneQueue } from './lane-queue.ts';

it('starts tasks at once while there is room, and the others in their order', async () => {
  const queue = new LaneQueue(2);
  const started: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  ends.forEach(({ promise }, index) => {
    queue.add(async () => {
      started.push(index);
      await promise;
    });
  });
  expect(started).toEqual([0, 1]);
  ends[1]?.resolve();
  await expect.poll(() => started).toEqual([0, 1, 2]);
  ends[0]?.resolve();
  await expect.poll(() => started).toEqual([0, 1, 2, 3]);
});

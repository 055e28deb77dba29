import { systemClock } from '@picket/lib/clock.ts';
import { expect, it } from 'vitest';
import { StartTimes } from './start-times.ts';

it('starts each at its time, in the order of the times, and none that was deleted', async () => {
  const started: { readonly name: string; readonly lateMs: number }[] = [];
  const done = Promise.withResolvers<void>();
  const nowMs = systemClock.monotonicMs();
  // Far enough apart for two steps.
  const times = {
    last: nowMs + 190,
    gone: nowMs + 60,
    first: nowMs + 40,
    twin: nowMs + 40,
    past: nowMs - 130,
  };
  const starts = new StartTimes<keyof typeof times>({
    clock: systemClock,
    start: (name) => {
      started.push({ name, lateMs: systemClock.monotonicMs() - times[name] });
      if (name === 'last') done.resolve();
    },
  });
  for (const name of ['last', 'gone', 'first', 'twin', 'past'] as const) starts.add(name, times[name]);
  starts.delete('gone');
  expect(starts.count).toBe(4);
  await done.promise;
  expect(started.map(({ name }) => name)).toEqual(['past', 'first', 'twin', 'last']);
  expect(Math.min(...started.map(({ lateMs }) => lateMs))).toBeGreaterThanOrEqual(-0.5);
  expect(starts.count).toBe(0);
});

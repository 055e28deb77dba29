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

it('holds things of one step until its end, and starts them together', async () => {
  const starts: string[] = [];
  const startedAtMs: number[] = [];
  const done = Promise.withResolvers<void>();
  // A whole step ahead, so that none of its times is past when it is added.
  const stepEndMs = Math.ceil(systemClock.monotonicMs() / 100) * 100 + 200;
  const times = new StartTimes<string>({
    clock: systemClock,
    start: (name) => {
      starts.push(name);
      startedAtMs.push(systemClock.monotonicMs());
      if (name === 'late') done.resolve();
    },
  });
  times.add('early', stepEndMs - 90);
  times.add('late', stepEndMs - 5);
  await done.promise;
  expect(starts).toEqual(['early', 'late']);
  expect(Math.min(...startedAtMs)).toBeGreaterThanOrEqual(stepEndMs - 0.5);
});

import { systemClock } from '@picket/lib/clock.ts';
import { expect, it } from 'vitest';
import { EarlyRuns } from './early-runs.ts';

it('sends runs ahead together, and starts the others at their slots', async () => {
  const nowMs = systemClock.monotonicMs();
  const run = (name: string, afterMs: number, maySendAhead = true) => ({
    name,
    dueAtMs: nowMs + afterMs,
    maySendAhead,
  });
  const started: { readonly name: string; readonly aheadMs: number }[] = [];
  const done = Promise.withResolvers<void>();
  const early = new EarlyRuns<ReturnType<typeof run>>({
    clock: systemClock,
    hasRoom: ({ name }) => name !== 'crowded',
    start: ({ name, dueAtMs }) => {
      started.push({ name, aheadMs: dueAtMs - systemClock.monotonicMs() });
      if (started.length === 4) done.resolve();
    },
  });
  const gone = run('gone', 310);
  const runs = [run('first', 310), run('second', 320), gone, run('crowded', 330), run('own', 440, false)];
  for (const one of runs) early.add(one);
  early.delete(gone);
  expect(early.count).toBe(4);
  await done.promise;
  expect(started.map(({ name }) => name)).toEqual(['first', 'second', 'crowded', 'own']);
  for (const { name, aheadMs } of started) {
    const isAtSlot = name === 'crowded' || name === 'own';
    expect(aheadMs).toBeLessThanOrEqual(isAtSlot ? 0.5 : 301);
  }
  expect(early.count).toBe(0);
});

import { afterEach, expect, it, vi } from 'vitest';
import { collectStartGarbage } from './start-garbage.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('collects garbage some seconds after the start, without a V8 flag', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const garbage = madeGarbage();
  collectStartGarbage();
  vi.advanceTimersByTime(5_000);
  vi.useRealTimers();
  expect(globalThis.gc).toBeUndefined();
  // Not the object itself: a failed expectation would keep it alive.
  await vi.waitFor(() => expect(garbage.deref() === undefined).toBe(true));
});

/** Created in a function that has returned: a suspended function keeps its objects alive. */
function madeGarbage(): WeakRef<object> {
  return new WeakRef({});
}

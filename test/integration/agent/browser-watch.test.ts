import { expect, it } from 'vitest';
import { BrowserWatch } from '../../../src/agent/runners/script/browser-watch.ts';
import { ManualClock } from '../../helpers/manual-clock.ts';

const restMs = 30_000;

function watched(starts: boolean) {
  const clock = new ManualClock();
  const state = { starts, works: true, trials: 0, changes: [] as boolean[] };
  const watch = new BrowserWatch({
    clock,
    tryBrowser: async () => {
      state.trials++;
      state.works = state.starts;
      return state.works;
    },
    onChanged: async () => {
      state.changes.push(state.works);
    },
  });
  const restPasses = async () => {
    await expect.poll(() => clock.sleeperCount).toBe(1);
    clock.advance(restMs);
  };
  return { clock, state, watch, restPasses };
}

it('starts the browser once, and not again while runs find it working', async () => {
  const { clock, state, watch } = watched(true);
  await watch.tryNow();
  clock.advance(10 * restMs);
  expect(state).toMatchObject({ trials: 1, changes: [] });
});

it('considers a broken browser broken until it starts again', async () => {
  const { state, watch, restPasses } = watched(false);
  await watch.tryNow();
  expect(state).toMatchObject({ works: false, trials: 1 });
  await restPasses();
  await expect.poll(() => state.trials).toBe(2);
  state.starts = true;
  await restPasses();
  await expect.poll(() => state.changes).toEqual([true]);
  watch.close();
});

it('restarts it after a failed run, but only after a pause', async () => {
  const { clock, state, watch, restPasses } = watched(true);
  await watch.tryNow();
  clock.advance(restMs);
  watch.runFailed();
  await expect.poll(() => state.trials).toBe(2);
  expect(state.changes).toEqual([]);
  state.starts = false;
  for (let failed = 0; failed < 5; failed++) watch.runFailed();
  await restPasses();
  await expect.poll(() => state.changes).toEqual([false]);
  expect(state.trials).toBe(3);
  watch.close();
});

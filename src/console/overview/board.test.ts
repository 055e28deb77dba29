import type { Store } from '@picket/platform/store/store.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { shared } from './board.ts';

const accountId = 'account';
let looks = 0;
let written = '';
let lookMs = 0;
let version = 7;
let choices = 0;

beforeEach(() => {
  [looks, written, lookMs, version, choices] = [0, '', 0, 7, 0];
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => vi.useRealTimers());

/** A store whose query over all checks is slow. */
function storeOf(): Store {
  return {
    audit: { lastWrite: async () => written },
    statuses: { lastChange: async () => version },
    states: { lastTurn: async () => 0 },
    overviews: {
      counts: async () => {
        looks += 1;
        vi.advanceTimersByTime(lookMs);
        return new Map([['passed', looks]]);
      },
      choices: async () => {
        choices += 1;
        return { tags: [], groups: [], locations: [], types: [] };
      },
    },
  } as unknown as Store;
}

function ask(store: Store, key = 'all', { isWhole = true, atLeast = 0 } = {}) {
  let made = 0;
  const answer = shared({ store, accountId, now: 0, atLeast }, key, async ({ counts }) => {
    made += 1;
    return { answer: { passed: counts.get('passed'), made }, isWhole };
  });
  return answer;
}

it('queries once for all concurrent readers, for twenty times as long as the query took', async () => {
  const store = storeOf();
  lookMs = 50;
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(store)));
  expect(answers).toEqual(answers.map(() => ({ passed: 1, made: 1 })));
  vi.advanceTimersByTime(900);
  expect(await ask(store)).toBe(answers[0]);
  // Another filter is rendered anew, from the same query.
  expect(await ask(store, 'others')).not.toBe(answers[0]);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(60);
  expect(await ask(store)).toMatchObject({ passed: 2 });
});

it('queries again at once after a write, and each time if that costs nothing', async () => {
  const store = storeOf();
  lookMs = 1_000;
  await ask(store);
  written = 'somebody wrote';
  expect(await ask(store)).toMatchObject({ passed: 2 });
  vi.advanceTimersByTime(1_500);
  expect(await ask(store)).toMatchObject({ passed: 3 });
  lookMs = 0;
  written = 'again';
  expect(await ask(store)).toMatchObject({ passed: 4 });
  expect(await ask(store)).toMatchObject({ passed: 5 });
});

it('shows a notified reader nothing older, and queries once for all notified readers', async () => {
  const store = storeOf();
  lookMs = 50;
  await ask(store);
  version = 8;
  expect(await ask(store)).toMatchObject({ passed: 1 });
  const notified = await Promise.all(Array.from({ length: 20 }, () => ask(store, 'all', { atLeast: 8 })));
  expect(notified).toEqual(notified.map(() => ({ passed: 2, made: 1 })));
});

it('shares a board that is incomplete for a moment, but not a failed one', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
  const store = storeOf();
  lookMs = 50;
  const first = await ask(store, 'all', { isWhole: false });
  expect(await ask(store)).toBe(first);
  vi.advanceTimersByTime(600);
  expect(await ask(store)).not.toBe(first);
  expect(looks).toBe(1);
  await expect(
    shared({ store, accountId, now: 0, atLeast: 0 }, 'broken', async () => Promise.reject(new Error('gone'))),
  ).rejects.toThrow('gone');
  expect(await ask(store, 'broken')).toMatchObject({ passed: 1 });
});

it('loads the filter choices once for each write, and once a minute', async () => {
  const store = storeOf();
  for (let round = 0; round < 3; round += 1) await ask(store);
  expect([looks, choices]).toEqual([3, 1]);
  written = 'somebody wrote';
  await ask(store);
  expect(choices).toBe(2);
  vi.advanceTimersByTime(60_000);
  await ask(store);
  expect(choices).toBe(3);
});

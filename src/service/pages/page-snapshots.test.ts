import { expect, it } from 'vitest';
import { PageSnapshots } from './page-snapshots.ts';

it('builds a costly response once for all requests within some seconds, and a cheap one each time', async () => {
  let nowMs = 0;
  const snapshots = new PageSnapshots({ monotonicMs: () => nowMs });
  let made = 0;
  const get = (cost: number) =>
    snapshots.get(
      `cost ${cost}`,
      async () => {
        made += 1;
        return { cost, made };
      },
      (answer) => answer.cost > 5,
    );
  expect(new Set(await Promise.all([get(9), get(9), get(9)])).size).toBe(1);
  nowMs = 9_000;
  expect((await get(9)).made).toBe(1);
  nowMs = 20_000;
  expect((await get(9)).made).toBe(2);
  expect((await get(1)).made).toBe(3);
  expect((await get(1)).made).toBe(4);
});

it('gives readers in a rush a cheap response again, and a single reader a new one', async () => {
  let nowMs = 0;
  let made = 0;
  const snapshots = new PageSnapshots({ monotonicMs: () => nowMs });
  const get = () =>
    snapshots.get(
      'key',
      async () => {
        made += 1;
        return made;
      },
      () => false,
    );
  expect(await Promise.all([get(), get(), get()])).toEqual([1, 1, 1]);
  nowMs = 9_000;
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  nowMs = 10_000;
  expect(await get()).toBe(2);
  expect(await get()).toBe(3);
});

it('does not keep failures', async () => {
  const snapshots = new PageSnapshots({ monotonicMs: () => 0 });
  const get = (make: () => Promise<number>) => snapshots.get('key', make, () => true);
  await expect(get(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await get(async () => 7)).toBe(7);
});

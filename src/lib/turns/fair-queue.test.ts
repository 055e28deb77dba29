import { describe, expect, it } from 'vitest';
import { FairQueue, type FairQueueOptions } from './fair-queue.ts';

/** A queue with its own clock, and its log in order. */
function stage(options: Partial<FairQueueOptions> = {}) {
  let nowMs = 0;
  const done: string[] = [];
  const queue = new FairQueue({
    name: 'test',
    atOnce: 1,
    waitingPerKey: 1000,
    nowMs: () => nowMs,
    ...options,
  });
  const add = (key: string, costMs: number, turn: { isFirst?: boolean; gone?: AbortSignal } = {}) =>
    queue.run({ key, ...turn }, async () => {
      await Promise.resolve();
      nowMs += costMs;
      done.push(key);
    });
  return { queue, done, add };
}

const times = (count: number, work: () => Promise<void>) => Array.from({ length: count }, work);

describe('a queue that is fair by key', () => {
  it('serves a new key next, however much of another one waits', async () => {
    const { done, add } = stage();
    await Promise.all([...times(50, () => add('a', 10)), add('b', 10), add('c', 10)]);
    expect(done.indexOf('b')).toBeLessThan(3);
    expect(done.indexOf('c')).toBeLessThan(4);
    expect(done).toHaveLength(52);
  });

  it('gives keys the same time, not the same number of turns', async () => {
    const { done, add } = stage();
    await Promise.all([...times(20, () => add('heavy', 100)), ...times(20, () => add('light', 10))]);
    // After the first heavy piece, ten light ones take as long as one.
    expect(done.slice(0, 11).filter((key) => key === 'heavy')).toHaveLength(1);
  });

  it('gives a key with little work less than half of the time, and a key with much work continues', async () => {
    const { done, add } = stage();
    await Promise.all([...times(500, () => add('much', 10)), ...times(10, () => add('little', 10))]);
    const before = done.slice(0, done.lastIndexOf('little')).filter((key) => key === 'much').length;
    expect(before).toBeGreaterThanOrEqual(2);
    expect(before).toBeLessThan(6);
  });

  it("waits for a key's next piece: a sequence of short pieces is not delayed by a long one each time", async () => {
    const { done, add } = stage();
    const oneByOne = async () => {
      for (let number = 0; number < 40; number += 1) await add('short', 1);
    };
    await Promise.all([...times(40, () => add('long', 10)), oneByOne()]);
    const before = done.slice(0, done.lastIndexOf('short')).filter((key) => key === 'long').length;
    // Some 40 ms of each, not 40 long pieces.
    expect(before).toBeGreaterThanOrEqual(1);
    expect(before).toBeLessThan(6);
  });

  it('prefers pieces that go first, but not endlessly', async () => {
    const { done, add } = stage();
    await Promise.all([
      ...times(4, () => add('a', 0)),
      ...times(8, () => add('readers', 0, { isFirst: true })),
    ]);
    expect(done.join(' ')).toBe('a readers readers readers a readers readers readers a readers readers a');
  });

  it('refuses only the key that has too many waiting pieces', async () => {
    const { queue, add } = stage({ waitingPerKey: 2 });
    const work = times(3, () => add('a', 1));
    await expect(add('a', 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await Promise.all([...work, add('b', 1)]);
    expect(queue.figures()).toMatchObject({ waiting: 0, begun: 4, refused: 1 });
  });

  it('lets requests in between, however much continuous work waits', async () => {
    const { queue, add } = stage();
    const waiting = Promise.withResolvers<number>();
    setImmediate(() => waiting.resolve(queue.figures().waiting));
    await Promise.all([...times(100, () => add('a', 1)), waiting.promise]);
    expect(await waiting.promise).toBeGreaterThan(80);
  });

  it('lets requests in between sequential pieces, so that no second one waits', async () => {
    const { done, add } = stage();
    const doneBefore = Promise.withResolvers<number>();
    setImmediate(() => doneBefore.resolve(done.length));
    for (let piece = 0; piece < 100; piece += 1) await add('a', 1);
    expect(await doneBefore.promise).toBeLessThan(20);
  });

  it('reserves places for later keys', async () => {
    const { queue } = stage({ atOnce: 4, atOnceOfKey: (all) => all - 1 });
    const hangs = Promise.withResolvers<void>();
    const begun: string[] = [];
    const hang = (key: string) =>
      queue.run({ key }, () => {
        begun.push(key);
        return hangs.promise;
      });
    const work = [...Array.from('aaaaa', hang), hang('b')];
    await Promise.resolve();
    expect(begun).toEqual(['a', 'a', 'a', 'b']);
    queue.resize(6);
    await Promise.resolve();
    expect(begun).toEqual(['a', 'a', 'a', 'b', 'a', 'a']);
    hangs.resolve();
    await Promise.all(work);
  });

  it('drops waiting pieces whose caller is gone, and continues', async () => {
    const { queue, done, add } = stage();
    const gone = new AbortController();
    const first = add('b', 5);
    const dropped = times(3, () => add('a', 1, { gone: gone.signal }));
    gone.abort();
    for (const one of dropped) await expect(one).rejects.toMatchObject({ code: 'CALLER_GONE' });
    await expect(add('a', 1, { gone: gone.signal })).rejects.toMatchObject({ code: 'CALLER_GONE' });
    await Promise.all([first, add('c', 1)]);
    expect(done).toEqual(['b', 'c']);
    expect(queue.figures()).toMatchObject({ waiting: 0, dropped: 4, begun: 2 });
  });

  it('continues after failed work', async () => {
    const { queue, done, add } = stage();
    await expect(queue.run({ key: 'a' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await add('a', 1);
    expect(done).toEqual(['a']);
  });
});

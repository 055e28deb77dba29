import { expect, it } from 'vitest';
import { Gathering } from './gathering.ts';

/** Work that waits until the test ends it, piece by piece. */
function heldWork(mostSize = 100) {
  const pieces: { readonly items: readonly number[]; end(error?: Error): void }[] = [];
  const gathering = new Gathering<number>({
    mostSize,
    sizeOf: (item) => item,
    work: (items) =>
      new Promise((resolve, reject) => {
        pieces.push({ items, end: (error) => (error ? reject(error) : resolve()) });
      }),
  });
  return { gathering, pieces, shown: () => pieces.map(({ items }) => items) };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('begins at once without load, and gathers what comes meanwhile', async () => {
  const { gathering, pieces, shown } = heldWork();
  const all = [gathering.run('a', 1), gathering.run('a', 2), gathering.run('a', 3)];
  expect(shown()).toEqual([[1]]);
  pieces[0]?.end();
  await settled();
  expect(shown()).toEqual([[1], [2, 3]]);
  const last = gathering.run('a', 4);
  pieces[1]?.end();
  await settled();
  pieces[2]?.end();
  await Promise.all([...all, last]);
  expect(shown()).toEqual([[1], [2, 3], [4]]);
});

it('does not gather items of different keys', () => {
  const { gathering, shown } = heldWork();
  void gathering.run('a', 1);
  void gathering.run('b', 2);
  expect(shown()).toEqual([[1], [2]]);
});

it('gathers up to a size; a larger item is alone', async () => {
  const { gathering, pieces, shown } = heldWork(10);
  for (const item of [1, 6, 4, 1, 50]) void gathering.run('a', item);
  for (let piece = 0; piece < 4; piece += 1) {
    pieces[piece]?.end();
    await settled();
  }
  expect(shown()).toEqual([[1], [6, 4], [1], [50]]);
});

it('does each item alone if they fail together, so that only the faulty one fails', async () => {
  const gathering = new Gathering<number>({
    mostSize: 100,
    sizeOf: (item) => item,
    work: async (items) => {
      await settled();
      if (items.includes(2)) throw new Error('two');
    },
  });
  const ended = await Promise.allSettled([1, 2, 3].map((item) => gathering.run('a', item)));
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

import { expect, it } from 'vitest';
import { LruMap } from './lru.ts';

it('keeps the entries that were used last', () => {
  const map = new LruMap<string, number>(2);
  let made = 0;
  const make = () => {
    made += 1;
    return made;
  };
  map.getOrMake('a', make);
  map.getOrMake('b', make);
  map.getOrMake('a', make);
  map.getOrMake('c', make);
  expect(map.size).toBe(2);
  expect(map.getOrMake('a', make)).toBe(1);
  expect(map.getOrMake('b', make)).toBe(4);
});

it('keeps nothing when the creation fails', () => {
  const map = new LruMap<string, number>(2);
  expect(() =>
    map.getOrMake('a', () => {
      throw new Error('no');
    }),
  ).toThrow('no');
  expect(map.size).toBe(0);
});

it('weighs entries of different sizes', () => {
  const map = new LruMap<string, string>(10, (value) => value.length);
  map.set('a', 'xxxx');
  map.set('b', 'xxxx');
  map.set('a', 'xxxxx');
  map.set('c', 'xxxxx');
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual(['xxxxx', undefined, 'xxxxx']);
  map.set('d', 'x'.repeat(11));
  expect(map.size).toBe(0);
});

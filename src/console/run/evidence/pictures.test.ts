import { expect, it } from 'vitest';
import type { Artifact } from './artifacts.ts';
import { pairsOf } from './pictures.ts';

const shots = (...names: readonly string[]) =>
  names.map((name) => ({ name, contentType: 'image/png', state: 'stored' }) as Artifact);
const namesOf = (now: readonly string[], before: readonly string[]) =>
  pairsOf(shots(...now), shots(...before)).map((pair) => [pair.now?.name, pair.before?.name]);

it('pairs screenshots by their names, and the rest by their order', () => {
  expect(namesOf(['cart', 'paid'], ['paid', 'cart'])).toEqual([
    ['cart', 'cart'],
    ['paid', 'paid'],
  ]);
  expect(namesOf(['shot-7', 'paid', 'shot-8'], ['shot-1', 'paid', 'shot-2', 'shot-3'])).toEqual([
    ['shot-7', 'shot-1'],
    ['paid', 'paid'],
    ['shot-8', 'shot-2'],
    [undefined, 'shot-3'],
  ]);
  expect(namesOf(['cart'], [])).toEqual([['cart', undefined]]);
});

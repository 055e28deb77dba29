import { expect, it } from 'vitest';
import { arranged, type CardFields, cardsOf, withCards } from './cards.ts';

const cards: CardFields[] = [
  { id: 'one', name: 'Shop', services: ['a', 'b', 'c'] },
  { id: undefined, name: 'Office', services: [] },
];

it('reads the cards that it writes, and leaves the rest of the form unchanged', () => {
  const form = withCards(new URLSearchParams('name=x&cards.0.name=old&cards.7.name=far'), cards);
  expect(form.get('name')).toBe('x');
  expect(cardsOf(form)).toEqual(cards);
});

it('ignores free places', () => {
  const form = new URLSearchParams(
    'cards.0.name=A&cards.0.services.0.id=a&cards.0.services.1.id=&cards.0.services.2.id=b',
  );
  expect(cardsOf(form)).toEqual([{ id: undefined, name: 'A', services: ['a', 'b'] }]);
});

it.each([
  ['1.up', ['Office', 'Shop'], 'abc'],
  ['0.up', ['Shop', 'Office'], 'abc'],
  ['0.down', ['Office', 'Shop'], 'abc'],
  ['1.down', ['Shop', 'Office'], 'abc'],
  ['1.remove', ['Shop'], 'abc'],
  ['add', ['Shop', 'Office', ''], 'abc'],
  ['0.2.up', ['Shop', 'Office'], 'acb'],
  ['0.0.down', ['Shop', 'Office'], 'bac'],
  ['0.1.remove', ['Shop', 'Office'], 'ac'],
  ['0.9.up', ['Shop', 'Office'], 'abc'],
  ['9.up', ['Shop', 'Office'], 'abc'],
  ['__proto__', ['Shop', 'Office'], 'abc'],
])('%s', (act, names, services) => {
  const after = arranged(cards, act);
  expect(after.map(({ name }) => name)).toEqual(names);
  expect(after.find(({ id }) => id === 'one')?.services.join('')).toBe(services);
});

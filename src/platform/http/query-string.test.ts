import { expect, it } from 'vitest';
import { parseQuery } from './query-string.ts';

it.each([
  ['', {}],
  ['limit=5&name=a%20b+c', { limit: '5', name: 'a b c' }],
  ['tag=a&tag=b', { tag: ['a', 'b'] }],
  ['tag[]=a', { tag: ['a'] }],
  ['tag%5B%5D=a&tag%5B%5D=b', { tag: ['a', 'b'] }],
  ['tag=a&tag[]=b&tag=c', { tag: ['a', 'c', 'b'] }],
  ['[]=a', { '[]': 'a' }],
  ['a[b]=c', { 'a[b]': 'c' }],
  ['__proto__=x&constructor[]=y', { constructor: ['y'] }],
])('%s', (text, parameters) => {
  expect({ ...parseQuery(text) }).toMatchObject(parameters);
});

it('keeps a name that all objects inherit', () => {
  expect(Object.entries(parseQuery('__proto__=x'))).toEqual([['__proto__', 'x']]);
});

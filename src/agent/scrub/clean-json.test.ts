import { expect, it } from 'vitest';
import { Scrubber } from './scrubber.ts';

const secret = 'p@ss/w"örd+& 1';

it.each([
  ['a secret', { body: secret }],
  ['a secret in Base64', { body: Buffer.from(`x${secret}`).toString('base64') }],
  ['a credential header', { headers: { 'Set-Cookie': 'id=4f1c9e8a7b6d5c4e3f' } }],
  ['user info in a URL', { url: 'https://anna:pencil@example.com/' }],
  ['a text so long that it may be cut', { body: 'x'.repeat(100_000) }],
  ['a number that JSON does not have', { count: 1n }],
  ['itself', ((one: Record<string, unknown>) => Object.assign(one, { one }))({})],
])('does not call a value clean with %s', (_what, value) => {
  expect(new Scrubber([secret]).cleanJson(value)).toBeUndefined();
});

it('serializes a clean value like any other, whatever it searched before', () => {
  const scrubber = new Scrubber([secret]);
  for (const value of [
    null,
    { text: 'ä€😀'.repeat(9000) },
    { text: 'short' },
    { headers: { server: 'x' } },
  ]) {
    expect(scrubber.cleanJson(value)).toBe(scrubber.json(value));
    expect(scrubber.cleanJson({ body: `${secret}.` })).toBeUndefined();
  }
});

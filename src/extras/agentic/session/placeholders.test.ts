import { expect, it } from 'vitest';
import { namesIn, Placeholders } from './placeholders.ts';

const variables = {
  USER: 'Ada Lovelace',
  PASSWORD: 'c0rrect "horse" & battery',
  PIN: '42',
  OTHER: 'unnamed secret',
};
const placeholders = new Placeholders(['USER', 'PASSWORD', 'PIN'], variables, (text) =>
  text.replaceAll('unnamed secret', '*****'),
);

it('names variables in braces', () => {
  expect(namesIn('{{USER}} and {{{ PASSWORD }}}, {{USER}} again, {{ not a name }}')).toEqual([
    'USER',
    'PASSWORD',
  ]);
});

it('replaces only what is named', () => {
  expect(placeholders.fill('{{USER}} {{ PIN }} {{OTHER}} {{toString}}')).toBe(
    'Ada Lovelace 42 {{OTHER}} {{toString}}',
  );
  expect(placeholders.unknownIn('{{USER}} {{OTHER}}')).toEqual(['OTHER']);
  expect(placeholders.fillAll({ a: ['{{PIN}}', 1, null] })).toEqual({ a: ['42', 1, null] });
});

it('hides values in every form in which a page may show them', () => {
  const { PASSWORD } = variables;
  const forms = [
    PASSWORD,
    PASSWORD.toUpperCase(),
    encodeURIComponent(PASSWORD),
    encodeURIComponent(PASSWORD).replaceAll('%20', '+'),
    JSON.stringify(PASSWORD),
    PASSWORD.replaceAll('&', '&amp;').replaceAll('"', '&quot;'),
    Buffer.from(PASSWORD).toString('base64'),
    Buffer.from(PASSWORD).toString('base64url'),
    Buffer.from(PASSWORD).toString('hex'),
    [...PASSWORD].toReversed().join(''),
  ];
  for (const form of forms) expect(placeholders.hide(`<${form}>`)).toMatch(/^<"?\{\{PASSWORD\}\}=*"?>$/);
  expect(placeholders.hide('an unnamed secret')).toBe('an *****');
});

it('hides short values only where they stand alone', () => {
  expect(placeholders.hide('PIN 42, room 420, 1.42')).toBe('PIN {{PIN}}, room 420, 1.{{PIN}}');
});

it('hides the longer of two values first', () => {
  const nested = new Placeholders(['A', 'B'], { A: 'secret', B: 'secret-and-more' }, (text) => text);
  expect(nested.hide('secret-and-more secret')).toBe('{{B}} {{A}}');
});

it('shows nothing of a secret that contains a value', () => {
  const secret = 'postgres://ada:hunter-2-hunter@db.test';
  const masking = new Placeholders(
    ['USER', 'TOKEN'],
    { USER: 'postgres://ada', TOKEN: 'tok-1234567' },
    (text) => text.replaceAll(secret, '*****').replaceAll('tok-1234567', '*****'),
  );
  expect(masking.hide(`It uses ${secret}, tok-1234567`)).toBe('It uses *****, *****');
  // If the two differ, the model sees which value is in which place.
  expect(masking.hide('postgres://ada with tok-1234567')).toBe('{{USER}} with {{TOKEN}}');
});

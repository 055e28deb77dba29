import { expect, it } from 'vitest';
import { hashPassword, isPassword, passwordProblem } from './password.ts';

it('recognizes a password, and takes as long for a person without one', async () => {
  const stored = await hashPassword('four words are enough');
  expect(stored).toMatch(/^scrypt\$15\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
  expect(stored).not.toBe(await hashPassword('four words are enough'));
  const answers = await Promise.all([
    isPassword('four words are enough', stored),
    isPassword('four words are enough.', stored),
    isPassword('four words are enough', null),
    // Both encode the same letter.
    isPassword('\u0041\u030a', await hashPassword('\u00c5')),
  ]);
  expect(answers).toEqual([true, false, false, true]);
});

it('accepts hashes with older parameters', async () => {
  const old = 'scrypt$10$8$1$c2FsdHNhbHRzYWx0c2FsdA$';
  const { scryptSync } = await import('node:crypto');
  const hash = scryptSync('old password', Buffer.from('saltsaltsaltsalt'), 32, { N: 1024, r: 8, p: 1 });
  expect(await isPassword('old password', `${old}${hash.toString('base64url')}`)).toBe(true);
});

it.each([
  ['short', 'must have 12 to 256 characters'],
  ['x'.repeat(257), 'must have 12 to 256 characters'],
  ['Ada.Lovelace@example.com', 'must not be the mail address'],
  ['aaaaaaaaaaaaaaaa', 'must have at least 5 different characters'],
  ['four words are enough', undefined],
])('reports the error in %s', (password, problem) => {
  expect(passwordProblem(password, 'ada.lovelace@example.com')).toBe(problem);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shellWords } from './shell-words.ts';

const single = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const double = (text: string) => `"${text.replaceAll(/[\\"$`]/g, '\\$&')}"`;
const bare = (text: string) =>
  text.replaceAll(/[^A-Za-z0-9]/gu, (letter) => (letter === '\n' ? `'\n'` : `\\${letter}`));
const ansi = (text: string) =>
  `$'${[...text].map((letter) => `\\U${(letter.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`).join('')}'`;

/** Any characters, often with a special meaning in a shell. */
const letter = fc.oneof(
  fc.constantFrom('"', "'", '\\', '$', '`', '\n', ' ', '#', ';', '|', '{', 'a'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const word = fc
  .array(letter, { minLength: 1, maxLength: 12 })
  .map((letters) => letters.join(''))
  .filter((text) => text.isWellFormed() && !text.includes('\r'));
const quoted = fc
  .tuple(word, fc.constantFrom(single, double, bare, ansi))
  .map(([text, quote]) => ({ text, written: quote(text) }));
/** A word of several pieces, each quoted differently. */
const piecedWord = fc.array(quoted, { minLength: 1, maxLength: 4 }).map((pieces) => ({
  text: pieces.map((one) => one.text).join(''),
  written: pieces.map((one) => one.written).join(''),
}));
const gap = fc.constantFrom(' ', '  ', '\t', ' \\\n  ');

it('reads back every word, however it is quoted', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(piecedWord, gap), { minLength: 1, maxLength: 8 }), (words) => {
      const line = words
        .map(([one, space]) => `${one.written}${space}`)
        .join('')
        .replace(/\s*\\?\s*$/, '');
      const last = words.at(-1)?.[0].written ?? '';
      // Skips lines whose last word ends with whitespace, because trimming cuts it.
      fc.pre(line.endsWith(last));
      expect(shellWords(line)).toEqual({ words: words.map(([one]) => one.text) });
    }),
  );
});

it('always returns words or an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { words, problem } = shellWords(text);
      expect(words === undefined).toBe(problem !== undefined);
    }),
  );
});

it.each([
  ['', []],
  [`''`, ['']],
  [`a"b"'c'`, ['abc']],
  ['"a\\nb"', ['a\\nb']],
  ['"a\\"b\\$c"', ['a"b$c']],
  [`$'a\\nb\\x41\\u00e9\\101\\''`, [`a\nbAéA'`]],
  ['curl \\\r\n  x', ['curl', 'x']],
  ['a # all of this is said to nobody', ['a']],
  ['cost$ $', ['cost$', '$']],
] as const)('%j', (text, words) => {
  expect(shellWords(text)).toEqual({ words });
});

it.each([
  [`'open`, /single quote/],
  ['"open', /double quote/],
  [`$'open`, /not closed/],
  ['"$HOME"', /variable/],
  ['${X}', /variable/],
  ['`date`', /backquotes/],
  ['a | b', /more than one command/],
  ['a\nb', /several lines/],
  ['a\\', /backslash/],
  [`$'\\Uffffffff'`, /invalid escape sequence/],
] as const)('%j cannot be parsed', (text, problem) => {
  expect(shellWords(text).problem).toMatch(problem);
});

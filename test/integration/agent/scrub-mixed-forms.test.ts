import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { readablePieces } from '../../helpers/agent/readable-pieces.ts';
import { isNight } from '../../helpers/night.ts';

const token = 'tok_9fQ2x7LmZpR4sVb8';
const password = `p@ss'w"örd+& 100%`;
const windows = 'C:\\dir\\p4ss-word-17';
const mask = '*********';
const json = JSON.stringify;
const html = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
const inUnicode = (text: string) =>
  Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** Encoders in the order in which real reports apply them. */
const encoders: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  JSON: json,
  XML: html,
  URL: encodeURIComponent,
  'JSON in XML': (text) => html(json(text)),
  'JSON in a URL': (text) => encodeURIComponent(json(text)),
  'JSON in JSON': (text) => json(json(text)),
  'JSON in JSON in JSON': (text) => json(json(json(text))),
};

/** Spellings of a secret before it is encoded, and the parts that must be removed. */
const forms: Readonly<Record<string, readonly (readonly [written: string, left: string])[]>> = {
  'as it is': [
    [password, password],
    [token, token],
    [windows, windows],
  ],
  'colours within': [
    [`tok_9f\u001b[7mQ2x7LmZp\u001b[27mR4sVb8`, 'Q2x7LmZp'],
    ['tok_9f\\x1B[7mQ2x7LmZp\\x1B[27mR4sVb8', 'Q2x7LmZp'],
  ],
  'elements within': [['tok_9f<span style="color: red">Q2x7LmZp</span>R4sVb8', 'Q2x7LmZp']],
  'all in escapes': [[inUnicode(token), inUnicode('Q2x7')]],
  'all in escapes, cut': [[`${inUnicode(token.slice(0, 12))}…`, inUnicode('Q2x7')]],
  'cut behind a quote': [[`'tok_9fQ2x7'... 120 more`, '9fQ2x7']],
};

describe.each(Object.entries(forms))('a secret %s', (_form, variants) => {
  it.each(Object.entries(encoders))('is found in %s', (_encoder, encode) => {
    const scrubber = new Scrubber([token, password, windows]);
    for (const [written, left] of variants) {
      const text = `before ${encode(written)} after`;
      expect(scrubber.text(text)).toContain(mask);
      const bare = (one: string) =>
        one.replace(/^"+|"+$/g, '').replaceAll(/^(?:\\*"|&quot;|%22)+|(?:\\*"|&quot;|%22)+$/g, '');
      expect(scrubber.text(text)).not.toContain(bare(encode(left)));
    }
  });
});

/**
 * A comparison adds colours to text that is coloured already: its codes may be anywhere, even inside the existing
 * codes.
 */
describe.each(Object.entries(encoders))('a secret coloured twice, in %s', (_encoder, encode) => {
  it.each([
    ['raw', (text: string) => text],
    ['escaped', json],
    ['escaped twice', (text: string) => json(json(text))],
    ['as Node shows it', (text: string) => inspect(text).slice(1, -1)],
  ])('is found if the first colours are %s', (_form, first) => {
    const leaks: string[] = [];
    for (const secret of [token, windows]) {
      const scrubber = new Scrubber([secret]);
      const [before, part, after] = [secret.slice(0, 6), secret.slice(6, -5), secret.slice(-5)];
      const coloured = first(`${before}\u001b[7m${part}\u001b[27m\u001b[39m${after}`);
      for (let start = 0; start <= coloured.length; start += 1) {
        for (const length of isNight ? [0, 1, 2, 3, 5, 9] : [(start * 7) % 5]) {
          const twice = `${coloured.slice(0, start)}\u001b[31m${coloured.slice(start, start + length)}\u001b[39m${coloured.slice(start + length)}`;
          const clean = scrubber.text(`before ${encode(twice)} after`);
          if (/tok_|Q2x7|mZpR|p4ss|-17/.test(clean)) leaks.push(json(twice));
        }
      }
    }
    expect(leaks).toEqual([]);
  });
});

it.each([
  ['octal', '\\033[7m', '\\033[27m'],
  ['octal in JSON', '\\\\033[7m', '\\\\033[27m'],
  ['XML', '&#27;[7m', '&#27;[27m'],
  ['XML in hex', '&#x1B;[7m', '&#x1B;[27m'],
])('is found between colours in %s', (_form, on, off) => {
  expect(new Scrubber([token]).text(`tok_9f${on}Q2x7LmZp${off}R4sVb8 is`)).toBe(`${mask} is`);
});

it('is found in compressed Base64 text that continues on the next line', () => {
  const packed = gzipSync(`${token}${'x'.repeat(8)}`)
    .toString('base64')
    .replaceAll('=', '');
  expect(json(new Scrubber([token]).text(`one\n${packed}\ntwo`))).toBe(json(`one\n${mask}\ntwo`));
});

it('is found in a Base64 file that begins at the end of a block', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'picket-blocks-'));
  const path = join(folder, 'report.json');
  const body = Buffer.from(`# Error\n\n${'x '.repeat(3000)} ${token}`).toString('base64');
  try {
    for (const before of [65_000, 65_450, 65_500, 65_520, 65_530]) {
      await writeFile(
        path,
        json({
          filler: 'y '.repeat(before / 2),
          attachments: [{ name: 'a', body }],
          more: 'z '.repeat(65_536),
        }),
      );
      await scrubFile(path, `${path}.out`, { finder: new SecretFinder([token]), mask });
      const left = await readFile(`${path}.out`);
      expect(readablePieces(left).filter((piece) => piece.includes(token))).toEqual([]);
      expect(JSON.parse(left.toString()).attachments[0].body).not.toBe(mask);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/agent/scrub/secret-finder.ts';
import { readablePieces } from '../../helpers/agent/readable-pieces.ts';

const token = 'tok_9fQ2x7LmZpR4sVb8';
const password = `p@ss'w"örd+& 100%`;
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

/** Encoders as real reports apply them, one after the other. */
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

/** What a secret looks like before it is encoded, and what of it must not be left. */
const forms: Readonly<Record<string, readonly (readonly [written: string, left: string])[]>> = {
  'as it is': [
    [password, password],
    [token, token],
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
    const scrubber = new Scrubber([token, password]);
    for (const [written, left] of variants) {
      const text = `before ${encode(written)} after`;
      expect(scrubber.text(text)).toContain(mask);
      const bare = (one: string) =>
        one.replace(/^"+|"+$/g, '').replaceAll(/^(?:\\*"|&quot;|%22)+|(?:\\*"|&quot;|%22)+$/g, '');
      expect(scrubber.text(text)).not.toContain(bare(encode(left)));
    }
  });
});

it('is found in colours within colours', () => {
  const scrubber = new Scrubber([token]);
  const text = 'tok_9f\\\u001b[7mu001b\u001b[27m[7mQ2x7LmZp\\u001b[27mR4sVb8';
  expect(scrubber.text(text)).not.toContain('Q2x7LmZp');
});

it('is found in a packed text in Base64 behind which the next line goes on', () => {
  const packed = gzipSync(`${token}${'x'.repeat(8)}`)
    .toString('base64')
    .replaceAll('=', '');
  expect(json(new Scrubber([token]).text(`one\n${packed}\ntwo`))).toBe(json(`one\n${mask}\ntwo`));
});

it('is found in a file in Base64 that begins at the end of a block', async () => {
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

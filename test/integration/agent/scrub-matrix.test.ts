import { createHash, generateKeyPairSync } from 'node:crypto';
import naughtyStrings from 'big-list-of-naughty-strings' with { type: 'json' };
import { describe, expect, it } from 'vitest';
import { scrubBytes } from '../../../src/agent/scrub/files/scrub-bytes.ts';
import { ScrubStream } from '../../../src/agent/scrub/files/scrub-stream.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { isMaskable } from '../../../src/lib/bounds/maskable.ts';
import { compressedForms, type WrittenSecret, writtenForms } from '../../helpers/agent/scrub-forms.ts';
import { isNight, sampleOf } from '../../helpers/night.ts';

const mask = '*****';
/** Share of the known strings that are tested where each is expensive: a different random part in each run. */
const part = isNight ? 1 : 1 / 40;
const cutsPerForm = 3;
const compressed = new Set(['gzip', 'deflate', 'brotli', 'zstd']);

/** Reproducible text without structure. */
function noise(seed: string, length: number): string {
  let text = '';
  for (let part = 0; text.length < length; part += 1) {
    text += createHash('sha512').update(`${seed}-${part}`).digest('base64');
  }
  return text.slice(0, length);
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
/** Some of these are words and numbers that occur in any text. */
const naughty = new Set(naughtyStrings as string[]);
const secrets = [
  ...naughty,
  pem,
  pem.replaceAll('\n', '\r\n'),
  JSON.stringify({ type: 'service', key: pem, nested: [1, 'a"b', { c: '\\' }] }, null, 2),
  ...[1024, 8192, 65_536, 131_072].map((length) => noise(`long-${length}`, length)),
  '.*+?^${}()|[]\\/',
  '(a+)+$.{3}[x-y]',
  'prefix-of-another',
  'prefix-of-another-one',
  'prefix-of-another-one-that-is-longer',
  'line one\nline two\r\nline three',
  '\ud800 half a character',
  'Grüße-Ärger-Öl',
  'tab\tand "quote" & <tag> 100% + more',
  ...Array.from({ length: 60 }, (_, index) => noise(`short-${index}`, 6 + index)),
  ...Array.from({ length: 40 }, (_, index) => `p@ss'w"${index}&<ö>/${noise(`mixed-${index}`, index)}`),
].filter(isMaskable);

/**
 * The forms of a secret; only some for the longest secrets, because each form is several times as long as the secret.
 */
function formsOf(secret: string): WrittenSecret[] {
  const forms = writtenForms(secret);
  const all = secret.length > 20_000 ? forms.filter((_, index) => index % 5 === 0) : forms;
  return all.filter(({ leak }) => leak.length >= 8);
}

function inOneDocument(forms: readonly WrittenSecret[]): Buffer {
  return Buffer.concat(forms.flatMap(({ bytes }) => [Buffer.from('|'), bytes, Buffer.from('|')]));
}

describe('the scrubber', () => {
  it('has enough secrets for a proof', () => {
    expect(new Set(secrets).size).toBeGreaterThanOrEqual(200);
  });

  it('finds every secret in every form', () => {
    const missed: string[] = [];
    for (const secret of sampleOf([...new Set(secrets)], 120)) {
      const finder = new SecretFinder([secret]);
      for (const { form, bytes, leak } of [...formsOf(secret), ...compressedForms(secret)]) {
        const text = Buffer.concat([Buffer.from('|before|'), bytes, Buffer.from('|after|')]);
        const whole = compressed.has(form) ? bytes : text;
        const clean = scrubBytes(whole, { finder, mask });
        if (clean.count === 0 || clean.bytes.includes(leak))
          missed.push(`${form}: ${JSON.stringify(secret.slice(0, 60))}`);
      }
    }
    expect(missed).toEqual([]);
  });

  it('finds all secrets at once, including those with equal prefixes', () => {
    const finder = new SecretFinder(secrets);
    const missed: string[] = [];
    // Each of them is tested alone above; those with equal prefixes are always tested here.
    const isLooked = (secret: string) =>
      secret.startsWith('prefix') || Math.random() < (naughty.has(secret) ? part : Math.max(part, 1 / 4));
    const looked = secrets.filter((secret) => secret.length < 100 && isLooked(secret));
    for (const secret of looked) {
      const forms = formsOf(secret);
      const clean = scrubBytes(inOneDocument(forms), { finder, mask });
      for (const { form, leak } of forms) {
        if (clean.bytes.includes(leak)) missed.push(`${form}: ${JSON.stringify(secret)}`);
      }
    }
    expect(missed).toEqual([]);
  });

  it('finds a secret at any end of a stream block', async () => {
    for (const secret of ['p@ss/w"örd+& 1', 'line one\nline two', '日本語の秘密']) {
      const finder = new SecretFinder([secret]);
      const forms = formsOf(secret);
      const document = inOneDocument(forms);
      const whole = scrubBytes(document, { finder, mask }).bytes;
      for (const { leak } of forms) expect(whole.includes(leak)).toBe(false);
      // A block ends after 64 KiB: at night every byte of the document is at that border once, by day some bytes of
      // each form are.
      const filler = Buffer.alloc(64 * 1024, '~');
      const cuts = Array.from({ length: document.length - 1 }, (_, index) => index + 1);
      for (const cut of sampleOf(cuts, forms.length * cutsPerForm)) {
        const stream = new ScrubStream(finder, mask);
        const pieces: Buffer[] = [];
        stream.on('data', (piece: Buffer) => pieces.push(piece));
        stream.write(filler.subarray(cut));
        stream.write(document.subarray(0, cut));
        stream.end(document.subarray(cut));
        const ended = Promise.withResolvers<void>();
        stream.on('end', ended.resolve);
        await ended.promise;
        const clean = Buffer.concat(pieces).subarray(filler.length - cut);
        if (!clean.equals(whole))
          expect({ secret, cut, clean: clean.toString() }).toEqual({ secret, cut, clean: whole.toString() });
      }
    }
  }, 300_000);

  it('finds each of all the secrets at any end of a block', async () => {
    const filler = Buffer.alloc(64 * 1024, '~');
    // Two positions of each secret, in every form.
    for (const secret of new Set(secrets.filter(({ length }) => length < 60 && Math.random() < part))) {
      const finder = new SecretFinder([secret]);
      const forms = formsOf(secret);
      const document = inOneDocument(forms);
      const whole = scrubBytes(document, { finder, mask }).bytes;
      for (let turn = 0; turn < 2; turn += 1) {
        const cut = 1 + Math.floor(Math.random() * (document.length - 1));
        const stream = new ScrubStream(finder, mask);
        const pieces: Buffer[] = [];
        stream.on('data', (piece: Buffer) => pieces.push(piece));
        const ended = Promise.withResolvers<void>();
        stream.on('end', ended.resolve);
        stream.write(filler.subarray(Math.min(cut, filler.length)));
        stream.write(document.subarray(0, cut));
        stream.end(document.subarray(cut));
        await ended.promise;
        const clean = Buffer.concat(pieces).subarray(Math.max(0, filler.length - cut));
        expect({ secret, cut, isWhole: clean.equals(whole) }).toEqual({ secret, cut, isWhole: true });
      }
    }
  }, 300_000);

  it('changes nothing in megabytes without secrets', () => {
    const finder = new SecretFinder(secrets.filter((secret) => !naughty.has(secret)));
    const lines = Array.from({ length: 4000 }, (_, line) =>
      JSON.stringify({
        line,
        url: `https://shop.example.com/products/${line}?page=${line % 7}&sort=price%20asc`,
        id: createHash('md5').update(`${line}`).digest('hex'),
        token: createHash('sha256').update(`${line}`).digest('base64'),
        html: '<a href="/">Home &amp; garden &lt;3</a>',
        message: 'the quick brown fox jumps over the lazy dog\n\tat Object.<anonymous> (file.js:1:2)',
      }),
    ).join('\n');
    const corpus = Buffer.from(isNight ? lines.repeat(8) : lines);
    expect(corpus.length).toBeGreaterThan(isNight ? 10_000_000 : 1_000_000);
    expect(finder.find(corpus)).toEqual([]);
  });
});

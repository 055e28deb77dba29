import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { isMaskable } from '@picket/lib/bounds/maskable.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scrubBytes } from './files/scrub-bytes.ts';
import { Scrubber } from './scrubber.ts';

const mask = '*********';

function cleanFile(text: string, ...secrets: string[]): string {
  return scrubBytes(Buffer.from(text), { finder: new SecretFinder(secrets), mask }).bytes.toString();
}

/** Secrets made of JSON's own syntax. */
const awkward = fc
  .array(fc.constantFrom('"', '\\', 'n', 'u', '1', 'a', 'Zq', '7', ',', ':', '{', '}', 'é', "'"), {
    minLength: 6,
    maxLength: 12,
  })
  .map((parts) => parts.join(''))
  .filter(isMaskable);

describe('JSON in a file', () => {
  it.each(['"quoted99', '\\escaped99', 'ends99with\\', '\\"both99\\"', 'a"b\\c"d99', 'nabc1234', 'u00e9abc'])(
    'is still JSON without %s',
    (secret) => {
      const value = { a: secret, b: `x${secret}y`, c: [`"${secret}"`, `\n${secret}\n`], d: `\\${secret}\\` };
      const lines = `${JSON.stringify(value)}\n${JSON.stringify(value)}\n`;
      for (const text of [lines, JSON.stringify(value, null, 2)]) {
        const clean = cleanFile(text, secret);
        expect(clean).toContain(mask);
        expect(clean).not.toContain(JSON.stringify(secret).slice(1, -1));
        if (text === lines) for (const line of clean.trim().split('\n')) JSON.parse(line);
        else JSON.parse(clean);
      }
    },
  );

  it('is still JSON within JSON', () => {
    for (const secret of ['"quoted99', '\\escaped99', 'ends99with\\', '847291553064']) {
      const inner = JSON.stringify({ a: secret, pin: 847_291_553_064, z: [secret, 'x'] });
      const outer = JSON.parse(cleanFile(JSON.stringify({ body: inner }), secret, '847291553064'));
      const parsed = JSON.parse(outer.body);
      expect(parsed).toEqual({ a: mask, pin: mask, z: [mask, 'x'] });
    }
  });

  it('has a text in place of a number', () => {
    const text = '{"pin":847291553064,"pins":[1,847291553064,[847291553064]],"id":18472915530640,"n":2}';
    expect(JSON.parse(cleanFile(text, '847291553064'))).toEqual({
      pin: mask,
      pins: [1, mask, [mask]],
      id: mask,
      n: 2,
    });
    const pretty = JSON.stringify({ pins: [1, 847_291_553_064, 2, 847_291_553_064] }, null, 2);
    expect(JSON.parse(cleanFile(pretty, '847291553064'))).toEqual({ pins: [1, mask, 2, mask] });
  });

  it('keeps its own quotes and brackets where a secret resembles them', () => {
    const secret = JSON.stringify({ user: 'bob42', key: [1, 'x-y-z'] });
    const text = `{"before":1,"login":${secret},"text":${JSON.stringify(secret)},"after":true}`;
    const clean = cleanFile(text, secret);
    expect(JSON.parse(clean)).toMatchObject({ before: 1, text: mask, after: true });
    for (const part of ['bob42', 'x-y-z']) expect(clean).not.toContain(part);
    expect(JSON.parse(cleanFile('{"a":true,"xyz":1}', 'true,"x'))).toEqual({ a: mask, [`${mask}yz`]: 1 });
  });

  it('keeps its type, whatever the secret is and wherever it appears', () => {
    fc.assert(
      fc.property(awkward, fc.jsonValue(), awkward, fc.boolean(), (secret, value, around, isPretty) => {
        const document = { value, text: around + secret + around, list: [secret, { [secret]: secret }] };
        const text = JSON.stringify(document, null, isPretty ? 1 : 0);
        const clean = cleanFile(text, secret);
        expect(() => JSON.parse(clean)).not.toThrow();
        const { text: left } = JSON.parse(clean) as { text?: string };
        expect(left ?? '').not.toContain(secret);
      }),
      { numRuns: 500 },
    );
  });

  it('is cleaned in the body of a result as well', () => {
    const secret = '"quoted99';
    const detail = { response: { body: JSON.stringify({ a: `x${secret}` }) } };
    const { response } = JSON.parse(new Scrubber([secret]).json(detail));
    expect(JSON.parse(response.body)).toEqual({ a: `x${mask}` });
  });
});

describe('a text that is not JSON', () => {
  it.each([
    ['[12:00:01] user logged in with Hunter2Secret and left', '[12:00:01] user logged in with *** and left'],
    ['[INFO] Hunter2Secret', '[INFO] ***'],
    ['"Hunter2Secret" said he', '"***" said he'],
    ['{ token: Hunter2Secret }', '{ token: "***" }'],
    ['token=Hunter2Secret; x={"a":1}', 'token=***; x={"a":1}'],
  ])('%s becomes %s', (text, clean) => {
    expect(cleanFile(text, 'Hunter2Secret').replaceAll(mask, '***')).toBe(clean);
  });
});

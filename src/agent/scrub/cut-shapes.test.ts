import { inspect } from 'node:util';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { describe, expect, it } from 'vitest';
import { scrubBytes } from './files/scrub-bytes.ts';
import { Unscrubbable } from './scrub-report.ts';

const secret = 'tok_9fQ2x7LmZpR4sVb8';
const options = { finder: new SecretFinder([secret, 'password-of-bob-17']), mask: '***' };
const clean = (text: string) => scrubBytes(Buffer.from(text), options).bytes.toString();

describe('what is left of a secret where a text was cut', () => {
  it.each([
    ['toHaveText received "tok_9fQ2x7…"', 'toHaveText received "***…"'],
    ['{"text":"tok_9fQ2x7\\u2026"}', '{"text":"***\\u2026"}'],
    ['tok_9fQ2x7&hellip;', '***&hellip;'],
    ['…ZpR4sVb8 and more', '…*** and more'],
    ["'tok_9fQ2x7'... 20 more characters", "'***'... 20 more characters"],
    ['tok_9f...sVb8', '***...***'],
    ['tok_9fQ2\ufffd…', '***\ufffd…'],
    [
      `<Buffer 68 69 ${Buffer.from('tok_9fQ')
        .toString('hex')
        .replaceAll(/..(?!$)/g, '$& ')} ... 12 more bytes>`,
      '<Buffer 68 69 ***... 12 more bytes>',
    ],
    [
      'Unexpected token \'a\', ..."oken": tok_9fQ2x7"... is not valid JSON',
      'Unexpected token \'a\', ..."oken": ***"... is not valid JSON',
    ],
    [
      'Unexpected token \'a\', ..."Q2x7LmZpR4"... is not valid JSON',
      'Unexpected token \'a\', ..."***"... is not valid JSON',
    ],
    [
      '\\"Unexpected token \'a\', ...\\"R4sVb8\\", x\\" is not valid JSON',
      '\\"Unexpected token \'a\', ...\\"***\\", x\\" is not valid JSON',
    ],
    [
      '["INPUT",{"__playwright_value_":"tok_9f","type":"text"}]',
      '["INPUT",{"__playwright_value_":"***","type":"text"}]',
    ],
  ])('%s becomes %s', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it.each([
    'tok_ is how tokens begin',
    'Checking password...',
    '...sVb8',
    `${'.'.repeat(70_000)}`,
    '["INPUT",{"__playwright_value_":"tok_other"}]',
    'Unexpected token \'a\', "abc" is not valid JSON',
  ])('%s stays', (text) => {
    expect(clean(text)).toBe(text);
  });
});

it('finds the rest of a secret as Node shows it, cut at every position', () => {
  for (const awkward of [`p@ss'w"ö\\rd+& 100%`, 'CORP\\svc-p4ss"17', 'two\nlines\\4711']) {
    const scrubber = new SecretFinder([awkward]);
    for (let length = 5; length < awkward.length; length += 1) {
      const shown = inspect({ text: `${awkward.slice(0, length)}…` });
      for (const text of [shown, JSON.stringify(shown), JSON.stringify(JSON.stringify(shown))]) {
        const masked = scrubBytes(Buffer.from(text), { finder: scrubber, mask: '***' }).bytes.toString();
        expect(masked).not.toContain(awkward.slice(0, 2));
      }
    }
  }
});

describe('the rest of a secret in Base64 after a cut', () => {
  const encoders: Readonly<Record<string, (text: string) => string>> = {
    'one line': (text) => Buffer.from(text).toString('base64'),
    'Base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
    'lines of 76': (text) => wrapped(text, 76, '\n'),
    'lines of 16': (text) => wrapped(text, 16, '\r\n'),
    'lines of 64 in JSON': (text) => wrapped(text, 64, '\\n'),
  };
  const marks: Readonly<Record<string, (text: string) => string>> = {
    'an ellipsis': (text) => `got ${text}…`,
    'an escaped ellipsis': (text) => `{"got":"${text}\\u2026"}`,
    'an ellipsis behind a quote': (text) => `got "${text}"… 120 more`,
    'an ellipsis in brackets': (text) => `got ${text}[…]`,
    'dots behind a quote': (text) => `got '${text}'... 120 more characters`,
    'dots in brackets': (text) => `got ${text} (...)`,
  };
  const surroundings = ['', 'x', 'xy', '{"user":"someone-long-enough","password":"', 'x'.repeat(59)];

  function wrapped(text: string, width: number, lineBreak: string): string {
    const lines = Buffer.from(text)
      .toString('base64')
      .match(new RegExp(`.{1,${width}}`, 'g'));
    return (lines ?? []).join(lineBreak);
  }

  function readable(text: string): string {
    const unwrapped = text.replaceAll(/\r?\n|\\n/g, '');
    const runs = unwrapped.matchAll(/[\w+/-]{5,}/g);
    return Array.from(runs, ([run]) => Buffer.from(run, 'base64').toString('latin1')).join(' ');
  }

  describe.each(Object.entries(encoders))('in %s', (_encoder, encode) => {
    it.each(Object.entries(marks))('is not before %s', (_mark, cut) => {
      const left = new Set<string>();
      for (const before of surroundings) {
        const encoded = encode(`${before}${secret}", and so on`);
        for (let end = 8; end < encoded.length; end += 1) {
          const text = cut(encoded.slice(0, end));
          if (readable(clean(text)).includes(secret.slice(0, 6))) left.add(text);
        }
      }
      expect([...left]).toEqual([]);
    });
  });

  it('is not after an ellipsis, even in lines', () => {
    for (const encode of Object.values(encoders)) {
      const encoded = encode(`{"user":"someone","password":"${secret}","more":"${'x'.repeat(60)}"}`);
      for (let start = 36; start < 52; start += 1) {
        // After a line end, the text begins with the next line.
        const text = `…${encoded.slice(start).replace(/^(?:\r?\n|\\n|n)/, '')}`;
        for (const shift of ['', 'A', 'AA', 'AAA'])
          expect(readable(shift + clean(text).slice(1))).not.toContain(secret.slice(-6));
      }
    }
  });
});

/** A chunk of a PNG image; its checksum is not verified here. */
function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
}

describe('compressed texts', () => {
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  const packed = deflateSync(`a note about ${secret}`);
  it.each([
    ['zTXt', Buffer.concat([Buffer.from('Comment\0\0'), packed])],
    ['iTXt', Buffer.concat([Buffer.from('Comment\0\x01\0en\0note\0'), packed])],
  ])('are found in the chunk %s of an image', (type, data) => {
    const image = (text: Buffer) =>
      Buffer.concat([
        signature,
        chunk('IHDR', Buffer.alloc(13)),
        chunk(type, text),
        chunk('IEND', Buffer.alloc(0)),
      ]);
    expect(() => scrubBytes(image(data), options)).toThrow(Unscrubbable);
    const harmless = image(Buffer.from('Comment\0\0no'));
    expect(scrubBytes(harmless, options)).toEqual({ bytes: harmless, count: 0 });
  });

  it('are found without a header', () => {
    const { count } = scrubBytes(deflateRawSync(`{"a":"${secret}"}`), options);
    expect(count).toBe(1);
  });
});

import { deflateRawSync, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { scrubBytes } from '../files/scrub-bytes.ts';
import { Unscrubbable } from '../scrub-report.ts';
import { SecretFinder } from '../secret-finder.ts';

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

/** A chunk of a PNG image; nobody here looks at its checksum. */
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

  it('are found without a header, too', () => {
    const { count } = scrubBytes(deflateRawSync(`{"a":"${secret}"}`), options);
    expect(count).toBe(1);
  });
});

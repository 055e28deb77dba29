import type { Answer } from '@picket/service/mcp/calls.ts';
import { describe, expect, it } from 'vitest';
import { fileAnswer, foreignNotice, partChars, rangeFor, textAnswer } from './answers.ts';

const answerOf = (text: string | Buffer, fields: Partial<Answer> = {}): Answer => ({
  contentType: 'application/json',
  range: undefined,
  bytes: Buffer.from(text as string),
  ...fields,
});
const plain = { isForeign: false, isWriting: false };
const textsOf = ({ content }: { readonly content: readonly unknown[] }) =>
  content.map((block) => (block as { readonly text: string }).text);

describe('text', () => {
  it('in one part is unchanged, with the notice before foreign text', () => {
    expect(textsOf(textAnswer(answerOf('{}'), { ...plain, cursor: undefined }))).toEqual(['{}']);
    const foreign = textAnswer(answerOf('{}'), { ...plain, isForeign: true, cursor: undefined });
    expect(textsOf(foreign)).toEqual([foreignNotice, '{}']);
    expect(textsOf(textAnswer(answerOf(''), { ...plain, cursor: undefined }))).toEqual(['Done.']);
  });

  it('in parts is complete again, even if a part would end inside a character', () => {
    const text = `x${'😀'.repeat(partChars)}`;
    let joined = '';
    let cursor: string | undefined;
    do {
      const [part = '', more = ''] = textsOf(textAnswer(answerOf(text), { ...plain, cursor }));
      expect(part.length).toBeLessThanOrEqual(partChars);
      expect(part.isWellFormed()).toBe(true);
      joined += part;
      cursor = /the cursor "([^"]+)"/.exec(more)?.[1];
    } while (cursor !== undefined);
    expect(joined).toBe(text);
  });

  it('that has changed since the first part reports so', () => {
    const long = 'x'.repeat(2 * partChars);
    const [, more = ''] = textsOf(textAnswer(answerOf(long), { ...plain, cursor: undefined }));
    const cursor = /the cursor "([^"]+)"/.exec(more)?.[1];
    expect(textAnswer(answerOf(`${long}y`), { ...plain, cursor })).toMatchObject({ isError: true });
  });

  it('of a write has no cursor: the write would be done again', () => {
    const answer = textAnswer(answerOf('x'.repeat(2 * partChars)), {
      ...{ isForeign: false, isWriting: true, cursor: undefined },
    });
    expect(textsOf(answer)[1]).toBe('Only the first 50000 of 100000 characters are shown.');
  });
});

describe('files', () => {
  const part = (bytes: Buffer) =>
    textsOf(
      fileAnswer(answerOf(bytes, { contentType: 'text/plain', range: `bytes 0-1/${10 * partChars}` }), {
        ...{ isForeign: false, cursor: undefined },
      }),
    );

  it.each(['ä', '€', '😀'])('end their parts after whole characters: %s', (character) => {
    for (const before of ['', 'x', 'xx', 'xxx']) {
      const [text = '', more = ''] = part(Buffer.from(before + character.repeat(partChars)));
      expect(text).not.toContain('\ufffd');
      expect(more).toContain(`the cursor "${Buffer.byteLength(text)}"`);
    }
  });

  it('that are not valid UTF-8 continue nevertheless', () => {
    const [, more = ''] = part(Buffer.alloc(2 * partChars, 0xff));
    expect(Number(/the cursor "(\d+)"/.exec(more)?.[1])).toBeGreaterThan(partChars - 4);
  });

  it('are requested from a cursor on', () => {
    expect(rangeFor('7')).toBe(`bytes=7-${7 + 2 ** 20 - 1}`);
    expect(() => rangeFor('1e400')).toThrow(/cursor/);
  });
});

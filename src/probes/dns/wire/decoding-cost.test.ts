import { encode } from 'dns-packet';
import { describe, expect, it } from 'vitest';
import { decodingSteps } from './decoding-cost.ts';
import { DnsDecodeError, decodeMessage } from './message.ts';

const many = 1_000_000;
/** 127 labels of one letter: the longest possible name. */
const longestName = Buffer.concat([...Array.from({ length: 127 }, () => Buffer.from([1, 97])), Buffer.of(0)]);
const pointerToQuestion = Buffer.from([0xc0, 12]);

/** As many records with such data as fit, each named by a pointer to the longest name. */
function bomb(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  const question = Buffer.concat([longestName, Buffer.from([0, type, 0, 1])]);
  const record = Buffer.concat([
    pointerToQuestion,
    Buffer.from([0, type, 0, 1, 0, 0, 0, 60, 0, data.length]),
    data,
  ]);
  const count = Math.floor((65_535 - head.length - question.length) / record.length);
  head.writeUInt16BE(count, 6);
  return Buffer.concat([head, question, ...Array.from({ length: count }, () => record)]);
}

describe('the cost of decoding a DNS message', () => {
  it('is counted in parts of names', () => {
    const message = encode({
      type: 'response',
      questions: [{ type: 'MX', name: 'a.example' }],
      answers: [{ type: 'MX', name: 'b.example', data: { preference: 1, exchange: 'mail.a.example' } }],
    });
    // Each name counts its labels and its end; a pointer to another name counts that one as well.
    expect(decodingSteps(message, many)).toBeGreaterThanOrEqual(3 + 3 + 4);
    expect(decodingSteps(message, many)).toBeLessThanOrEqual(3 + 3 + 4 + 3);
  });

  it.each([
    ['addresses', bomb(1, Buffer.from([192, 0, 2, 1]))],
    ['name servers', bomb(2, pointerToQuestion)],
    ['SOA records', bomb(6, Buffer.concat([pointerToQuestion, pointerToQuestion, Buffer.alloc(20)]))],
  ])('is refused when it is out of proportion: %s', (_name, bytes) => {
    expect(bytes.length).toBeLessThanOrEqual(65_535);
    expect(() => decodeMessage(bytes)).toThrow(DnsDecodeError);
    expect(() => decodeMessage(bytes)).toThrow('parts in all');
  });

  it('is within the limit for the largest honest reply', () => {
    const name = 'www.service.team.example.com';
    const answers = Array.from({ length: 4000 }, (_, index) => ({
      type: 'A' as const,
      name,
      data: `192.0.${index >> 8}.${index & 255}`,
    }));
    const bytes = encode({ type: 'response', questions: [{ type: 'A', name }], answers });
    expect(bytes.length).toBeGreaterThan(60_000);
    expect(decodeMessage(bytes).answers).toHaveLength(4000);
  });

  it.each([
    ['a pointer to itself', Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12])],
    ['nothing after the head', Buffer.from([0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0])],
    ['less than a head', Buffer.from([1, 2, 3])],
  ])('is limited for %s', (_name, bytes) => {
    expect(decodingSteps(bytes, many)).toBeLessThanOrEqual(many);
  });
});

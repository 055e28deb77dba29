import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DnsDecodeError, decodeMessage, encodeQuery, mismatch } from './message.ts';

const question = { name: 'www.example.test', type: 'HTTPS' } as const;

/**
 * The bytes of a response with several records, one of them with a compressed name and one with HTTPS data.
 */
function response(): Buffer {
  const bytes = encodeQuery(question, 4711, false);
  bytes.writeUInt16BE(0x8580, 2);
  bytes.writeUInt16BE(3, 6);
  const record = (type: number, data: readonly number[]) =>
    Buffer.from([
      0xc0,
      0x0c,
      type >> 8,
      type & 255,
      0,
      1,
      0,
      0,
      1,
      44,
      data.length >> 8,
      data.length & 255,
      ...data,
    ]);
  const alpn = [0, 1, 0, 3, 2, 104, 50];
  return Buffer.concat([
    bytes,
    record(1, [192, 0, 2, 1]),
    record(65, [0, 1, 0, ...alpn]),
    record(5, [3, 97, 10, 98, 0]),
  ]);
}

describe('a DNS message', () => {
  it('is read with all its records', () => {
    const message = decodeMessage(response());
    expect(mismatch(message, question, 4711)).toBeUndefined();
    expect(message.answers).toEqual([
      { name: 'www.example.test.', type: 'A', ttlSeconds: 300, text: '192.0.2.1' },
      { name: 'www.example.test.', type: 'HTTPS', ttlSeconds: 300, text: '1 . alpn="h2"' },
      // A line feed in a name does not split the line.
      { name: 'www.example.test.', type: 'CNAME', ttlSeconds: 300, text: 'a\\010b.' },
    ]);
  });

  it('requests types that the codec has no name for', () => {
    const bytes = encodeQuery(question, 1, true);
    expect(decodeMessage(bytes).questions).toEqual([{ name: 'www.example.test.', type: 'HTTPS', class: 1 }]);
    // QTYPE follows the name: 12 bytes of header and 18 of name.
    expect(bytes.readUInt16BE(30)).toBe(65);
  });

  it('is either read or refused, whatever its bytes are', () => {
    const whole = response();
    const flips = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    const mutated = fc.tuple(flips, fc.nat(whole.length)).map(([changes, length]) => {
      const bytes = Buffer.from(whole);
      for (const [offset, value] of changes) bytes.writeUInt8(value, offset);
      return bytes.subarray(0, length || whole.length);
    });
    const anything = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, anything), (bytes) => {
        try {
          const { answers } = decodeMessage(bytes);
          for (const { text } of answers) expect(text).not.toMatch(/[\r\n]/);
        } catch (thrown) {
          if (!(thrown instanceof DnsDecodeError)) throw thrown;
        }
      }),
      { numRuns: 3000 },
    );
  });
});

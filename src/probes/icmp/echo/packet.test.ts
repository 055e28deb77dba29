import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { echoRequest, internetChecksum } from './packet.ts';

const request = (dataBytes: number, family: 4 | 6 = 4) =>
  echoRequest({ family, identifier: 0xabcd, sequence: 0x0102, token: randomBytes(8), dataBytes });

it.each([0, 1, 3, 8, 56, 1473, 65_499])('has a checksum that adds up, with %s data bytes', (dataBytes) => {
  const packet = request(dataBytes);
  expect(packet.length).toBe(8 + dataBytes);
  expect(internetChecksum(packet)).toBe(0);
});

it('matches the example of RFC 1071', () => {
  expect(internetChecksum(Buffer.from('0001f203f4f5f6f7', 'hex'))).toBe(0xffff - 0xddf2);
});

it('is an echo request of its family', () => {
  expect([...request(8).subarray(0, 2)]).toEqual([8, 0]);
  expect([...request(8, 6).subarray(0, 2)]).toEqual([128, 0]);
  expect([...request(8, 6).subarray(4, 8)]).toEqual([0xab, 0xcd, 1, 2]);
});

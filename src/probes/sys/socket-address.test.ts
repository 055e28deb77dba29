import { canonicalAddress } from '@picket/lib/wire/canonical-address.ts';
import { expect, it } from 'vitest';
import { decodeSocketAddress, encodeSocketAddress } from './socket-address.ts';

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['255.1.0.77', '255.1.0.77'],
  ['::', '::'],
  ['::1', '::1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['fd83::2', 'fd83::2'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ['::ffff:1.2.3.4', '::ffff:102:304'],
])('%s is read back as %s', (written, read) => {
  expect(decodeSocketAddress(encodeSocketAddress(written))).toBe(read);
  expect(canonicalAddress(written)).toBe(read);
});

it('keeps the interface of a link-local address', () => {
  expect(encodeSocketAddress('fe80::1', 3).readUInt32LE(24)).toBe(3);
});

it('has no address for an unknown family', () => {
  expect(decodeSocketAddress(Buffer.alloc(28))).toBeUndefined();
  expect(decodeSocketAddress(Buffer.alloc(0))).toBeUndefined();
});

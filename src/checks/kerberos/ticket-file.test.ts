import { expect, it } from 'vitest';
import { readTicketFile } from './ticket-file.ts';

const long = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const data = (text: string) => Buffer.concat([long(text.length), Buffer.from(text)]);
const principal = (realm: string, ...parts: readonly string[]) =>
  Buffer.concat([long(1), long(parts.length), data(realm), ...parts.map(data)]);
const client = principal('A.TEST', 'monitor');
const ticket = (server: Buffer, endS: number) =>
  Buffer.concat([
    ...[client, server, Buffer.from([0, 18]), data('key')],
    ...[long(1), long(2), long(endS), long(4), Buffer.from([0]), long(0x4000_0000)],
    // An address and a right.
    ...[long(1), Buffer.from([0, 2]), data('addr'), long(1), Buffer.from([0, 1]), data('right')],
    ...[data('ticket'), data('')],
  ]);
const beginning = Buffer.concat([Buffer.from([5, 4, 0, 4, 1, 2, 3, 4]), client]);
const tgt = ticket(principal('A.TEST', 'krbtgt', 'A.TEST'), 1_800_000_000);
const service = ticket(principal('A.TEST', 'HTTP', 'intranet.a.test'), 1_800_000_001);

it('reads the tickets of a cache, each with its server and end', () => {
  expect(readTicketFile(Buffer.concat([beginning, tgt, service]))).toEqual({
    beginning,
    tickets: [
      { server: 'krbtgt/A.TEST', endsAtMs: 1_800_000_000_000, bytes: tgt },
      { server: 'HTTP/intranet.a.test', endsAtMs: 1_800_000_001_000, bytes: service },
    ],
  });
  const olderFormat = Buffer.concat([Buffer.from([5, 3]), client, service]);
  expect(readTicketFile(olderFormat).tickets).toHaveLength(1);
});

it('refuses what is no cache, and a cache that ends anywhere but after a ticket', () => {
  expect(() => readTicketFile(Buffer.from('no cache'))).toThrow('unknown format');
  const whole = Buffer.concat([beginning, service]);
  for (let size = 0; size < whole.length; size += 1) {
    if (size === beginning.length) continue;
    expect(() => readTicketFile(whole.subarray(0, size)), String(size)).toThrow('too early');
  }
});

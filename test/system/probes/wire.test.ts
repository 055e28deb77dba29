import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExchanges, readRoundTrips } from '../../helpers/wire/wire.ts';

const SYN = 0x02;
const ACK = 0x10;
const FIN = 0x01;
const client = [10, 0, 0, 1];
const server = [10, 0, 0, 2];
const options = { serverPort: 443, before: 'tls' as const, waitMs: 100 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-wire-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A record of a capture: time, Ethernet header, IPv4 header, and content. */
function record(atMs: number, isOurs: boolean, protocol: number, content: Buffer, claimedBytes = 0): Buffer {
  const header = Buffer.alloc(16);
  const captured = Buffer.concat([
    Buffer.alloc(14),
    Buffer.from([0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0]),
    Buffer.from(isOurs ? [...client, ...server] : [...server, ...client]),
    content,
  ]);
  captured.writeUInt16BE(20 + content.length + claimedBytes, 16);
  header.writeUInt32LE(1_000_000_000 + Math.floor(atMs / 1000), 0);
  header.writeUInt32LE(Math.round((atMs % 1000) * 1e6), 4);
  header.writeUInt32LE(captured.length, 8);
  return Buffer.concat([header, captured]);
}

/** The bytes that each side of a port has sent so far, which determine the next sequence numbers. */
const sentBytes = new Map<string, number>();

/** A segment as truncated by the snap length: the IP header declares its data, but the data is missing. */
function segment(atMs: number, from: 'us' | 'them', flags: number, dataBytes: number, port = 5000): Buffer {
  const tcp = Buffer.alloc(20);
  tcp.writeUInt16BE(from === 'us' ? port : 443, 0);
  tcp.writeUInt16BE(from === 'us' ? 443 : port, 2);
  const sender = `${from} ${port}`;
  const sequence = sentBytes.get(sender) ?? 0xffff_ff00;
  sentBytes.set(sender, (sequence + dataBytes) >>> 0);
  tcp.writeUInt32BE(sequence, 4);
  tcp.writeUInt8(5 << 4, 12);
  tcp.writeUInt8(flags, 13);
  return record(atMs, from === 'us', 6, tcp, dataBytes);
}

/** The same segment at a later time. */
function again(atMs: number, sent: Buffer): Buffer {
  const copy = Buffer.from(sent);
  copy.writeUInt32LE(Math.round((atMs % 1000) * 1e6), 4);
  return copy;
}

function echo(atMs: number, isOurs: boolean, type: number, sequence: number): Buffer {
  const icmp = Buffer.alloc(8);
  icmp.writeUInt8(type, 0);
  icmp.writeUInt16BE(77, 4);
  icmp.writeUInt16BE(sequence, 6);
  return record(atMs, isOurs, 1, icmp);
}

async function capture(...records: readonly Buffer[]): Promise<string> {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b23c4d, 0);
  header.writeUInt32LE(1, 20);
  const path = join(folder, `${crypto.randomUUID()}.pcap`);
  await writeFile(path, Buffer.concat([header, ...records]));
  return path;
}

const https = (port = 5000) => [
  segment(0, 'us', SYN, 0, port),
  segment(1, 'them', SYN | ACK, 0, port),
  segment(1.1, 'us', ACK, 0, port),
  segment(2, 'us', ACK, 1500, port), // ClientHello
  segment(4, 'them', ACK, 1000, port),
  segment(4.5, 'them', ACK, 200, port), // end of the server's flight
  segment(6, 'us', ACK, 80, port), // Finished
  segment(6.5, 'them', ACK, 250, port), // session ticket
  segment(7, 'us', ACK, 120, port), // request
  segment(7.5, 'them', ACK, 250, port), // another ticket
  segment(107.5, 'them', ACK, 300, port),
  segment(108.5, 'them', ACK, 500, port),
];

describe('an exchange on the wire', () => {
  it('has phases of TLS and the request without session tickets and the close', async () => {
    const path = await capture(
      ...https(),
      segment(180, 'us', ACK, 24), // a client that noticed late closes
      segment(180.2, 'them', ACK, 24),
    );
    const phases = (await readExchanges(path, options)).get(5000);
    expect(phases?.connect).toBeCloseTo(1, 4);
    expect(phases?.tls).toBeCloseTo(2.5, 4);
    expect(phases?.wait).toBeCloseTo(100.5, 4);
    expect(phases?.download).toBeCloseTo(1, 4);
    expect(phases?.total).toBeCloseTo(105, 4);
  });

  it('does not include the reply to its end in the response', async () => {
    const path = await capture(
      ...https(),
      segment(180, 'us', FIN | ACK, 0), // a client that closes without an alert
      segment(180.2, 'them', ACK, 24),
    );
    expect((await readExchanges(path, options)).get(5000)?.download).toBeCloseTo(1, 4);
  });

  it('ignores retransmissions of a server that waits for an ACK', async () => {
    const answer = segment(101, 'them', ACK, 600);
    const exchange = [
      segment(0, 'us', SYN, 0),
      segment(0.25, 'them', SYN | ACK, 0),
      segment(1, 'us', ACK, 100),
      answer,
      again(121, answer),
      segment(122, 'them', ACK, 10),
    ];
    const phases = (await readExchanges(await capture(...exchange), { ...options, before: 'nothing' })).get(
      5000,
    );
    expect(phases?.wait).toBeCloseTo(100, 4);
    expect(phases?.download).toBeCloseTo(21, 4);
    const withoutEnd = await capture(...exchange.slice(0, -1));
    expect((await readExchanges(withoutEnd, { ...options, before: 'nothing' })).get(5000)?.download).toBe(0);
  });

  it('has the phases of a plain exchange', async () => {
    const path = await capture(
      segment(0, 'us', SYN, 0),
      segment(0.25, 'them', SYN | ACK, 0),
      segment(1, 'us', ACK, 100),
      segment(101, 'them', ACK, 600),
    );
    const phases = (await readExchanges(path, { ...options, before: 'nothing' })).get(5000);
    expect(phases).toMatchObject({ tls: 0, download: 0 });
    expect(phases?.connect).toBeCloseTo(0.25, 4);
    expect(phases?.wait).toBeCloseTo(100, 4);
  });

  it('has the settings of HTTP/2 separate from the request', async () => {
    const path = await capture(
      segment(0, 'us', SYN, 0),
      segment(0.25, 'them', SYN | ACK, 0),
      segment(1, 'us', ACK, 60), // preface and settings
      segment(3, 'them', ACK, 40), // settings
      segment(3.5, 'us', ACK, 9), // acknowledgement
      segment(3.75, 'us', ACK, 200), // request
      segment(4, 'them', ACK, 9),
      segment(103.75, 'them', ACK, 90),
    );
    const phases = (await readExchanges(path, { ...options, before: 'settings' })).get(5000);
    expect(phases?.tls).toBeCloseTo(2, 4);
    expect(phases?.wait).toBeCloseTo(100, 4);
  });

  it('is not judged with a retransmitted SYN, a reused port or an incomplete exchange', async () => {
    const path = await capture(
      segment(0, 'us', SYN, 0, 1),
      ...https(1),
      ...https(2),
      ...https(2),
      ...https(3).slice(0, 9),
      ...https(4),
    );
    const exchanges = await readExchanges(path, options);
    expect([1, 2, 3].map((port) => exchanges.get(port))).toEqual([null, null, null]);
    expect(exchanges.get(4)).not.toBeNull();
  });

  it('has round trips in the order of the requests', async () => {
    const path = await capture(
      echo(0, true, 8, 1),
      echo(10, true, 8, 2),
      echo(10.5, false, 0, 2),
      echo(20, true, 8, 3),
      echo(20.25, false, 0, 3),
      echo(30, false, 0, 3),
    );
    const [first, second, third] = await readRoundTrips(path, '10.0.0.2');
    expect(first).toBeNull();
    expect(second).toBeCloseTo(0.5, 4);
    expect(third).toBeCloseTo(0.25, 4);
  });

  it('is refused in a capture without nanoseconds', async () => {
    const path = join(folder, 'micro.pcap');
    await writeFile(path, Buffer.concat([Buffer.from('d4c3b2a1', 'hex'), Buffer.alloc(20)]));
    await expect(readExchanges(path, options)).rejects.toThrow('nanosecond');
  });
});

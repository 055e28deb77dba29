import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConnectionCapture } from '../../../src/probes/capture/capture.ts';
import { connectionPacket } from '../../../src/probes/capture/connection-packet.ts';
import { type CaptureScope, captureFilter } from '../../../src/probes/capture/filter.ts';
import { PacketSocket } from '../../../src/probes/capture/packet-socket.ts';
import type { CapturedPacket } from '../../../src/probes/capture/pcap.ts';
import { type Libc, loadLibc } from '../../../src/probes/sys/libc.ts';
import { listen, type Target } from '../../helpers/targets/listening.ts';
import { readPcap } from '../../helpers/wire/captured-packets.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();
const payload = 'a secret that nobody may see, longer than any header is, and then some more of it. '.repeat(
  3,
);
const limits = { maxPackets: 1000, maxBytes: 1 << 20 };

describe.skipIf(reason)(`packet sockets${reason ? ` (${reason})` : ''}`, () => {
  let libc: Libc;
  beforeAll(async () => {
    libc = await loadLibc();
  });

  describe.each<[4 | 6, string]>([
    [4, '127.0.0.1'],
    [6, '::1'],
  ])('over IPv%s', (family, address) => {
    let echo: Target;
    let scope: CaptureScope;
    const headerBytes = family === 4 ? 20 : 40;
    beforeAll(async () => {
      echo = await listen(
        createServer((socket) => socket.pipe(socket)),
        { scheme: 'tcp', host: address },
      );
      scope = { protocol: 'tcp', address, family, port: echo.port, localPorts: [], payloadBytes: 0 };
    });
    afterAll(() => echo.close());

    const opened = async () => {
      const socket = connect(echo.port, address);
      await once(socket, 'connect');
      return socket;
    };
    const echoed = async (socket: Socket) => {
      socket.write(payload);
      await once(socket, 'data');
    };
    const drained = (socket: PacketSocket) => {
      const packets: CapturedPacket[] = [];
      socket.drain(1000, (packet) => packets.push(packet) > 0);
      return packets;
    };

    it.each([0, 96])('are cut by the kernel, %s bytes after the TCP header', async (payloadBytes) => {
      const packets = PacketSocket.open(libc, captureFilter({ ...scope, payloadBytes }));
      const connection = await opened();
      await echoed(connection);
      const found = drained(packets);
      connection.destroy();
      await packets.close();
      const withData = found.filter(({ originalBytes }) => originalBytes > payload.length);
      expect(withData.length).toBeGreaterThanOrEqual(2);
      for (const { data, originalBytes } of withData) {
        const tcpBytes = (data.readUInt8(headerBytes + 12) >> 4) * 4;
        expect(data.length).toBe(headerBytes + tcpBytes + payloadBytes);
        expect(originalBytes).toBe(headerBytes + tcpBytes + payload.length);
      }
    });

    it('receive only the ports of a filter', async () => {
      const [wanted, other] = [await opened(), await opened()];
      const localPorts = [wanted.localPort ?? 0, 9];
      const packets = PacketSocket.open(libc, captureFilter({ ...scope, localPorts }));
      await Promise.all([echoed(wanted), echoed(other)]);
      const found = drained(packets);
      wanted.destroy();
      other.destroy();
      await packets.close();
      expect(found.length).toBeGreaterThan(2);
      for (const { data } of found) {
        expect(connectionPacket(data, scope)?.localPort).toBe(localPorts[0]);
      }
    });

    it('give a capture both directions of its connections, from before it knew them', async () => {
      const startedSeconds = Date.now() / 1000;
      const capture = ConnectionCapture.start(libc, scope, limits);
      const [wanted, other] = [await opened(), await opened()];
      const localPort = wanted.localPort ?? 0;
      await Promise.all([echoed(wanted), echoed(other)]);
      capture.watch(localPort);
      const { file, packetCount, isFull, droppedPackets } = await capture.stop();
      wanted.destroy();
      other.destroy();
      const { segments } = readPcap(file);
      expect(packetCount).toBe(segments.length);
      expect([isFull, droppedPackets]).toEqual([false, 0]);
      expect(segments.slice(0, 3).map(({ flags }) => flags)).toEqual(['S', 'S.', '.']);
      const ends = segments.map(({ sourcePort, destinationPort }) => [sourcePort, destinationPort].sort());
      for (const ports of ends) expect(ports).toEqual([localPort, echo.port].sort());
      const sent = segments.filter(({ payloadBytes }) => payloadBytes === payload.length);
      expect(sent.map(({ sourcePort }) => sourcePort)).toEqual([localPort, echo.port]);
      const times = segments.map(({ atSeconds }) => atSeconds);
      expect(times).toEqual(times.toSorted((left, right) => left - right));
      // Date.now() is truncated to the millisecond.
      expect(times[0]).toBeGreaterThanOrEqual(startedSeconds);
      expect(times.at(-1)).toBeLessThanOrEqual(Date.now() / 1000 + 0.001);
    });

    it('report the number of packets that the kernel dropped because they were not read', async () => {
      const capture = ConnectionCapture.start(libc, scope, limits);
      const connection = await opened();
      for (let count = 0; count < 3000; count += 1) await echoed(connection);
      capture.watch(connection.localPort ?? 0);
      const { packetCount, droppedPackets } = await capture.stop();
      connection.destroy();
      expect(droppedPackets).toBeGreaterThan(0);
      expect(packetCount).toBeGreaterThan(3);
    });

    it('fill a capture up to its limits and no further', async () => {
      const connection = await opened();
      for (const limit of [
        { maxPackets: 5, maxBytes: 1 << 20 },
        { maxPackets: 1000, maxBytes: 500 },
      ]) {
        const capture = ConnectionCapture.start(libc, scope, limit);
        capture.watch(connection.localPort ?? 0);
        for (let count = 0; count < 10; count += 1) await echoed(connection);
        const { file, packetCount, isFull } = await capture.stop();
        expect(isFull).toBe(true);
        expect(packetCount).toBeLessThanOrEqual(limit.maxPackets);
        expect(file.length).toBeLessThanOrEqual(limit.maxBytes);
        expect(readPcap(file).segments).toHaveLength(packetCount);
      }
      connection.destroy();
    });
  });
});

describe('the headers of a packet', () => {
  const scope: CaptureScope = {
    protocol: 'tcp',
    address: '10.0.0.2',
    family: 4,
    port: 443,
    localPorts: [],
    payloadBytes: 0,
  };
  /** An IPv4 packet with a TCP header of 32 bytes and ten bytes of payload. */
  const segment = (source: string, destination: string, ports: readonly [number, number]) => {
    const packet = Buffer.alloc(62);
    packet.writeUInt8(0x45, 0);
    packet.writeUInt8(6, 9);
    packet.set(source.split('.').map(Number), 12);
    packet.set(destination.split('.').map(Number), 16);
    packet.writeUInt16BE(ports[0], 20);
    packet.writeUInt16BE(ports[1], 22);
    packet.writeUInt8(0x80, 32);
    return packet;
  };

  it('identify the connection and the bytes that may be kept, for any packet from the kernel', () => {
    const expected = { localPort: 5000, keptBytes: 52 };
    expect(connectionPacket(segment('10.0.0.1', '10.0.0.2', [5000, 443]), scope)).toEqual(expected);
    expect(connectionPacket(segment('10.0.0.2', '10.0.0.1', [443, 5000]), scope)).toEqual(expected);
    // The ports of the first segment on the same host, swapped.
    expect(connectionPacket(segment('10.0.0.2', '10.0.0.2', [443, 5000]), scope)).toEqual(expected);
  });

  it.each([
    ['another peer', segment('10.0.0.1', '10.0.0.3', [5000, 443])],
    ['another port', segment('10.0.0.1', '10.0.0.2', [5000, 80])],
    ['the wrong direction', segment('10.0.0.2', '10.0.0.1', [5000, 443])],
    ['half a packet', segment('10.0.0.1', '10.0.0.2', [5000, 443]).subarray(0, 30)],
    ['nothing', Buffer.alloc(0)],
  ])('are not accepted from %s', (_name, packet) => {
    expect(connectionPacket(packet, scope)).toBeUndefined();
  });
});

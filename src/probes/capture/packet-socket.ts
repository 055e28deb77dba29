import { close as closeInPool, closeSync } from 'node:fs';
import { constants } from 'node:os';
import { attachFilter } from '../sys/bpf.ts';
import { adoptDescriptor } from '../sys/descriptor.ts';
import { SysError } from '../sys/errno.ts';
import { type KernelTime, readTimespec } from '../sys/kernel-clock.ts';
import type { Libc } from '../sys/libc.ts';
import * as linux from '../sys/linux.ts';
import type { CapturedPacket } from './pcap.ts';

/** Room for the longest headers, the bytes kept after them, and a margin. */
const maxDataBytes = 512;
const maxControlBytes = 256;
/** `struct sockaddr_ll` with room for the long addresses of InfiniBand. */
const nameBytes = 32;
const controlHeaderBytes = 16;
const receiveBufferBytes = 1 << 20;
const { EAGAIN, EINTR } = constants.errno;

/**
 * A packet socket (`AF_PACKET`) that receives every packet of this network namespace, in both directions, from the IP
 * header on, if its filter accepts it. Non-blocking. Needs NET_RAW.
 */
export class PacketSocket {
  readonly #libc: Libc;
  readonly #descriptor: number;
  readonly #data = Buffer.alloc(maxDataBytes);
  readonly #name = Buffer.alloc(nameBytes);
  readonly #control = Buffer.alloc(maxControlBytes);
  readonly #vector = Buffer.alloc(16);
  readonly #header = Buffer.alloc(56);

  private constructor(libc: Libc, descriptor: number) {
    this.#libc = libc;
    this.#descriptor = descriptor;
    // struct msghdr; see src/probes/sys/message.ts.
    this.#vector.writeBigUInt64LE(libc.addressOf(this.#data), 0);
    this.#vector.writeBigUInt64LE(BigInt(maxDataBytes), 8);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#name), 0);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#vector), 16);
    this.#header.writeBigUInt64LE(1n, 24);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#control), 32);
  }

  /**
   * Opens a socket that receives immediately.
   *
   * @param filter a classic BPF program.
   * @throws SysError: EPERM without NET_RAW; EAFNOSUPPORT if the kernel or a sandbox does not support packet sockets.
   */
  static open(libc: Libc, filter: Buffer): PacketSocket {
    const type = linux.SOCK_DGRAM | linux.SOCK_NONBLOCK | linux.SOCK_CLOEXEC;
    // Protocol 0 receives nothing, so no packet arrives before the filter is attached.
    const opened = libc.socket(linux.AF_PACKET, type, 0);
    if (opened < 0) throw new SysError('socket', libc.errno());
    const descriptor = adoptDescriptor(libc, opened);
    try {
      const socket = new PacketSocket(libc, descriptor);
      socket.#option(linux.SOL_SOCKET, linux.SO_RCVBUF, receiveBufferBytes);
      socket.#option(linux.SOL_SOCKET, linux.SO_TIMESTAMPNS, 1);
      socket.#option(linux.SOL_PACKET, linux.PACKET_AUXDATA, 1);
      socket.filter(filter);
      socket.#bindToAll();
      return socket;
    } catch (thrown) {
      closeSync(descriptor);
      throw thrown;
    }
  }

  /**
   * Replaces the filter for future packets; packets already queued stay.
   *
   * @throws SysError
   */
  filter(program: Buffer): void {
    if (attachFilter(this.#libc, this.#descriptor, program) < 0)
      throw new SysError('setsockopt', this.#libc.errno());
  }

  /**
   * Reads queued packets, up to `maxPackets`.
   *
   * @param onPacket returns false to stop.
   */
  drain(maxPackets: number, onPacket: (packet: CapturedPacket) => boolean): void {
    for (let count = 0; count < maxPackets; count += 1) {
      this.#header.writeUInt32LE(nameBytes, 8);
      this.#header.writeBigUInt64LE(BigInt(maxControlBytes), 40);
      const sizeBytes = this.#libc.recvmsg(this.#descriptor, this.#header, linux.MSG_DONTWAIT);
      if (sizeBytes < 0) {
        const errno = this.#libc.errno();
        if (errno === EINTR) continue;
        if (errno === EAGAIN) return;
        // A device went down; the others still deliver packets.
        if (errno === constants.errno.ENETDOWN) continue;
        throw new SysError('recvmsg', errno);
      }
      if (!onPacket(this.#read(sizeBytes))) return;
    }
  }

  /** Returns how many packets the kernel dropped since the last call because they were not read in time. */
  droppedPackets(): number {
    const statistics = Buffer.alloc(8);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(statistics.length);
    const { SOL_PACKET, PACKET_STATISTICS } = linux;
    const result = this.#libc.getsockopt(this.#descriptor, SOL_PACKET, PACKET_STATISTICS, statistics, size);
    if (result < 0) throw new SysError('getsockopt', this.#libc.errno());
    return statistics.readUInt32LE(4);
  }

  /**
   * Closes the socket; resolves when that is done. Runs in the thread pool: the kernel waits until no processor uses
   * the socket, which takes about ten milliseconds.
   */
  close(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    closeInPool(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    return promise;
  }

  #read(sizeBytes: number): CapturedPacket {
    const control = this.#control;
    const end = Math.min(maxControlBytes, Number(this.#header.readBigUInt64LE(40)));
    let receivedAt: KernelTime = { seconds: 0, nanoseconds: 0 };
    let originalBytes = sizeBytes;
    let offset = 0;
    while (offset + controlHeaderBytes <= end) {
      const length = Number(control.readBigUInt64LE(offset));
      if (length < controlHeaderBytes || offset + length > end) break;
      const level = control.readInt32LE(offset + 8);
      const type = control.readInt32LE(offset + 12);
      const at = offset + controlHeaderBytes;
      if (level === linux.SOL_SOCKET && type === linux.SO_TIMESTAMPNS) receivedAt = readTimespec(control, at);
      // struct tpacket_auxdata: status, length on the wire, …
      if (level === linux.SOL_PACKET && type === linux.PACKET_AUXDATA)
        originalBytes = control.readUInt32LE(at + 4);
      offset += (length + 7) & ~7;
    }
    return {
      receivedAt,
      data: Buffer.from(this.#data.subarray(0, sizeBytes)),
      originalBytes,
      // struct sockaddr_ll: family, protocol, interface, device type, packet type, length of the address,
      // address.
      link: {
        protocol: this.#name.readUInt16BE(2),
        deviceType: this.#name.readUInt16LE(8),
        packetType: this.#name.readUInt8(10),
        addressBytes: Math.min(8, this.#name.readUInt8(11)),
        address: Buffer.from(this.#name.subarray(12, 20)),
      },
    };
  }

  #bindToAll(): void {
    // Only sockets bound to all protocols receive the packets that this host sends.
    const address = Buffer.alloc(20);
    address.writeUInt16LE(linux.AF_PACKET, 0);
    address.writeUInt16BE(linux.ETH_P_ALL, 2);
    if (this.#libc.bind(this.#descriptor, address, address.length) < 0) {
      throw new SysError('bind', this.#libc.errno());
    }
  }

  #option(level: number, option: number, value: number): void {
    const encoded = Buffer.alloc(4);
    encoded.writeInt32LE(value);
    this.#set(level, option, encoded);
  }

  #set(level: number, option: number, value: Buffer): void {
    if (this.#libc.setsockopt(this.#descriptor, level, option, value, value.length) < 0) {
      throw new SysError('setsockopt', this.#libc.errno());
    }
  }
}

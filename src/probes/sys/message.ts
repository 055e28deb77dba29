import { constants } from 'node:os';
import { type KernelTime, readTimespec } from './kernel-clock.ts';
import type { Libc } from './libc.ts';
import {
  IP_RECVERR,
  IP_TTL,
  IPV6_HOPLIMIT,
  IPV6_RECVERR,
  MSG_DONTWAIT,
  MSG_ERRQUEUE,
  SO_TIMESTAMPNS,
  SOL_IP,
  SOL_IPV6,
  SOL_SOCKET,
} from './linux.ts';
import { decodeSocketAddress, maxSocketAddressBytes } from './socket-address.ts';

/** What the kernel says of a packet that could not be delivered (`struct sock_extended_err`). */
export interface ExtendedError {
  readonly errno: number;
  /** Who noticed: SO_EE_ORIGIN_LOCAL, or an ICMP error that arrived. */
  readonly origin: number;
  /** Type and code of the ICMP error. */
  readonly type: number;
  readonly code: number;
  /** The MTU, in bytes, for "fragmentation needed" and "packet too big". */
  readonly info: number;
  /** The host or router that sent the ICMP error. */
  readonly offender: string | undefined;
}

/** One packet with everything the kernel knows of it. */
export interface ReceivedMessage {
  /** Valid until the next receive. */
  readonly data: Buffer;
  /** The sender; for entries of the error queue, where the packet had been sent to. */
  readonly address: string | undefined;
  /** When the kernel received it, on its realtime clock. */
  readonly receivedAt: KernelTime | undefined;
  /** Time to live, or hop limit, it arrived with. */
  readonly ttl: number | undefined;
  readonly error: ExtendedError | undefined;
}

const maxDataBytes = 66_000;
const maxControlBytes = 512;
const headerSizeBytes = 56;
const controlHeaderBytes = 16;
const { EAGAIN, EINTR } = constants.errno;

/**
 * Receives messages with `recvmsg` into one set of buffers. `struct msghdr`: name, its size, vectors, their number,
 * control data, its size, flags; eight bytes each.
 */
export class MessageReceiver {
  readonly #libc: Libc;
  readonly #data = Buffer.alloc(maxDataBytes);
  readonly #name = Buffer.alloc(maxSocketAddressBytes);
  readonly #control = Buffer.alloc(maxControlBytes);
  readonly #vector = Buffer.alloc(16);
  readonly #header = Buffer.alloc(headerSizeBytes);

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#vector.writeBigUInt64LE(libc.addressOf(this.#data), 0);
    this.#vector.writeBigUInt64LE(BigInt(maxDataBytes), 8);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#name), 0);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#vector), 16);
    this.#header.writeBigUInt64LE(1n, 24);
    this.#header.writeBigUInt64LE(libc.addressOf(this.#control), 32);
  }

  /**
   * Takes everything out of a socket that does not block: from its error queue, or its packets. Reading packets also
   * clears errors that are pending at the socket; they are in the error queue too.
   */
  drain(
    descriptor: number,
    queue: 'packets' | 'errors',
    onMessage: (message: ReceivedMessage) => void,
  ): void {
    const flags = queue === 'errors' ? MSG_DONTWAIT | MSG_ERRQUEUE : MSG_DONTWAIT;
    // A bound, so that a flood cannot keep the thread from sending.
    for (let count = 0; count < 4096; count += 1) {
      this.#header.writeUInt32LE(maxSocketAddressBytes, 8);
      this.#header.writeBigUInt64LE(BigInt(maxControlBytes), 40);
      const sizeBytes = this.#libc.recvmsg(descriptor, this.#header, flags);
      if (sizeBytes >= 0) {
        onMessage(this.#read(sizeBytes));
        continue;
      }
      const errno = this.#libc.errno();
      if (errno === EAGAIN) return;
      if (queue === 'errors' && errno !== EINTR) return;
    }
  }

  #read(sizeBytes: number): ReceivedMessage {
    let receivedAt: KernelTime | undefined;
    let ttl: number | undefined;
    let error: ExtendedError | undefined;
    const control = this.#control;
    const end = Math.min(maxControlBytes, Number(this.#header.readBigUInt64LE(40)));
    let offset = 0;
    while (offset + controlHeaderBytes <= end) {
      const length = Number(control.readBigUInt64LE(offset));
      if (length < controlHeaderBytes || offset + length > end) break;
      const level = control.readInt32LE(offset + 8);
      const type = control.readInt32LE(offset + 12);
      const data = control.subarray(offset + controlHeaderBytes, offset + length);
      if (level === SOL_SOCKET && type === SO_TIMESTAMPNS) receivedAt = readTimespec(data, 0);
      else if (isHopCount(level, type)) ttl = data.readInt32LE(0);
      else if (isExtendedError(level, type)) error = readExtendedError(data);
      offset += (length + 7) & ~7;
    }
    const nameBytes = Math.min(maxSocketAddressBytes, this.#header.readUInt32LE(8));
    return {
      data: this.#data.subarray(0, sizeBytes),
      address: decodeSocketAddress(this.#name.subarray(0, nameBytes)),
      receivedAt,
      ttl,
      error,
    };
  }
}

function isHopCount(level: number, type: number): boolean {
  return (level === SOL_IP && type === IP_TTL) || (level === SOL_IPV6 && type === IPV6_HOPLIMIT);
}

function isExtendedError(level: number, type: number): boolean {
  return (level === SOL_IP && type === IP_RECVERR) || (level === SOL_IPV6 && type === IPV6_RECVERR);
}

function readExtendedError(data: Buffer): ExtendedError {
  return {
    errno: data.readUInt32LE(0),
    origin: data.readUInt8(4),
    type: data.readUInt8(5),
    code: data.readUInt8(6),
    info: data.readUInt32LE(8),
    offender: decodeSocketAddress(data.subarray(16)),
  };
}

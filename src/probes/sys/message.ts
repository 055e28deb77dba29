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

/** Kernel report on a sent packet (`struct sock_extended_err`): a delivery error, or its departure time. */
export interface ExtendedError {
  readonly errno: number;
  /** Source: SO_EE_ORIGIN_LOCAL, SO_EE_ORIGIN_TIMESTAMPING, or an ICMP error that arrived. */
  readonly origin: number;
  /** Type and code of the ICMP error. */
  readonly type: number;
  readonly code: number;
  /** The MTU, in bytes, for "fragmentation needed" and "packet too big". */
  readonly info: number;
  /** The host or router that sent the ICMP error. */
  readonly offender: string | undefined;
}

/** A received packet and its metadata. */
export interface ReceivedMessage {
  /** The beginning of the packet. Valid until the next receive. */
  readonly data: Buffer;
  /** The sender; for entries of the error queue, the destination of the original packet. */
  readonly address: string | undefined;
  /** When the kernel received it, on its realtime clock; for SO_EE_ORIGIN_TIMESTAMPING, when it sent it. */
  readonly stampedAt: KernelTime | undefined;
  /** Time to live or hop limit on arrival. */
  readonly ttl: number | undefined;
  readonly error: ExtendedError | undefined;
}

/** Enough for the headers and the first bytes of a packet; the rest is truncated. */
const maxDataBytes = 256;
const maxControlBytes = 256;
/** `struct mmsghdr`: a `struct msghdr` of 56 bytes, then the received size. */
const entrySizeBytes = 64;
const sizeOffset = 56;
const controlHeaderBytes = 16;
/** Packets read per system call. */
const batchSize = 32;
/** Limit, so that a flood cannot occupy the thread. */
const maxBatches = 64;
const { EAGAIN, EINTR } = constants.errno;

/**
 * Receives the beginnings of packets with `recvmmsg`, many at a time, into one set of buffers. Fields of `struct
 * msghdr`: name, its size, vectors, their number, control data, its size, flags; eight bytes each.
 */
export class MessageReceiver {
  readonly #libc: Libc;
  readonly #data = Buffer.alloc(batchSize * maxDataBytes);
  readonly #names = Buffer.alloc(batchSize * maxSocketAddressBytes);
  readonly #control = Buffer.alloc(batchSize * maxControlBytes);
  readonly #vectors = Buffer.alloc(batchSize * 16);
  readonly #headers = Buffer.alloc(batchSize * entrySizeBytes);

  constructor(libc: Libc) {
    this.#libc = libc;
    const data = libc.addressOf(this.#data);
    const names = libc.addressOf(this.#names);
    const control = libc.addressOf(this.#control);
    const vectors = libc.addressOf(this.#vectors);
    for (let index = 0; index < batchSize; index += 1) {
      this.#vectors.writeBigUInt64LE(data + BigInt(index * maxDataBytes), index * 16);
      this.#vectors.writeBigUInt64LE(BigInt(maxDataBytes), index * 16 + 8);
      const header = index * entrySizeBytes;
      this.#headers.writeBigUInt64LE(names + BigInt(index * maxSocketAddressBytes), header);
      this.#headers.writeBigUInt64LE(vectors + BigInt(index * 16), header + 16);
      this.#headers.writeBigUInt64LE(1n, header + 24);
      this.#headers.writeBigUInt64LE(control + BigInt(index * maxControlBytes), header + 32);
      this.#makeRoom(index);
    }
  }

  /**
   * Reads everything from a non-blocking socket: its error queue, or its packets. Reading packets also clears pending
   * errors of the socket; they are in the error queue, too.
   */
  drain(
    descriptor: number,
    queue: 'packets' | 'errors',
    onMessage: (message: ReceivedMessage) => void,
  ): void {
    const flags = queue === 'errors' ? MSG_DONTWAIT | MSG_ERRQUEUE : MSG_DONTWAIT;
    for (let batches = 0; batches < maxBatches; batches += 1) {
      const count = this.#libc.recvmmsg(descriptor, this.#headers, batchSize, flags, null);
      for (let index = 0; index < count; index += 1) {
        onMessage(this.#read(index));
        this.#makeRoom(index);
      }
      if (count >= 0) {
        if (count < batchSize) return;
        continue;
      }
      const errno = this.#libc.errno();
      if (errno === EAGAIN) return;
      if (queue === 'errors' && errno !== EINTR) return;
    }
  }

  /** Resets the sizes, which the kernel overwrites with the bytes used. */
  #makeRoom(index: number): void {
    const header = index * entrySizeBytes;
    this.#headers.writeUInt32LE(maxSocketAddressBytes, header + 8);
    this.#headers.writeUInt32LE(maxControlBytes, header + 40);
  }

  #read(index: number): ReceivedMessage {
    let stampedAt: KernelTime | undefined;
    let ttl: number | undefined;
    let error: ExtendedError | undefined;
    const header = index * entrySizeBytes;
    const control = this.#control;
    let offset = index * maxControlBytes;
    const end = offset + Math.min(maxControlBytes, this.#headers.readUInt32LE(header + 40));
    while (offset + controlHeaderBytes <= end) {
      const length = control.readUInt32LE(offset);
      if (length < controlHeaderBytes || offset + length > end) break;
      const level = control.readInt32LE(offset + 8);
      const type = control.readInt32LE(offset + 12);
      const dataAt = offset + controlHeaderBytes;
      if (level === SOL_SOCKET && type === SO_TIMESTAMPNS) stampedAt = readTimespec(control, dataAt);
      else if (isHopCount(level, type)) ttl = control.readInt32LE(dataAt);
      else if (isExtendedError(level, type))
        error = readExtendedError(control.subarray(dataAt, offset + length));
      offset += (length + 7) & ~7;
    }
    const nameAt = index * maxSocketAddressBytes;
    const nameBytes = Math.min(maxSocketAddressBytes, this.#headers.readUInt32LE(header + 8));
    const sizeBytes = Math.min(maxDataBytes, this.#headers.readUInt32LE(header + sizeOffset));
    return {
      data: this.#data.subarray(index * maxDataBytes, index * maxDataBytes + sizeBytes),
      address: decodeSocketAddress(this.#names.subarray(nameAt, nameAt + nameBytes)),
      stampedAt,
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

import { constants } from 'node:os';
import { type KernelTime, kernelMs } from './kernel-clock.ts';
import type { Libc } from './libc.ts';
import {
  AF_INET,
  AF_INET6,
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

/** Enough for the headers and the first bytes of a packet; the rest is truncated. */
const maxDataBytes = 256;
const maxControlBytes = 256;
/** `struct mmsghdr`: a `struct msghdr` of 56 bytes, then the received size. */
const entrySizeBytes = 64;
const sizeOffset = 56;
const controlHeaderBytes = 16;
/** The address in a `struct sockaddr_in` and `sockaddr_in6`. */
const addressPlaces = { [AF_INET]: { start: 4, end: 8 }, [AF_INET6]: { start: 8, end: 24 } } as const;
/** Packets read per system call. */
const batchSize = 32;
/** Limit, so that a flood cannot occupy the thread. */
const maxBatches = 64;
const { EAGAIN, EINTR } = constants.errno;

/**
 * A received packet and its metadata, in the place of a MessageReceiver that holds one packet after the other. Valid
 * until the next receive. Nothing is copied or decoded before someone asks: most packets are recognized by a few bytes.
 */
export class ReceivedMessage {
  /** The beginning of the packet is in the first `sizeBytes`; the rest is of earlier packets. */
  readonly bytes: Buffer;
  sizeBytes = 0;
  /** Time to live or hop limit on arrival. */
  ttl: number | undefined;
  readonly #name: Buffer;
  #nameBytes = 0;
  readonly #control: Buffer;
  readonly #words: Int32Array;
  /** Where the time and the error are in the control data, in words; -1 without one. */
  #stampAt = -1;
  #errorAt = -1;
  #errorEnd = -1;

  /** @param control aligned to 4 bytes. */
  constructor(bytes: Buffer, name: Buffer, control: Buffer) {
    this.bytes = bytes;
    this.#name = name;
    this.#control = control;
    this.#words = new Int32Array(control.buffer, control.byteOffset, control.length / 4);
  }

  /** Takes in what the kernel has just written. Sizes are those that it reports. */
  take(sizeBytes: number, nameBytes: number, controlBytes: number): void {
    this.sizeBytes = Math.min(this.bytes.length, sizeBytes);
    this.#nameBytes = Math.min(this.#name.length, nameBytes);
    this.ttl = undefined;
    this.#stampAt = -1;
    this.#errorAt = -1;
    const words = this.#words;
    const endBytes = Math.min(this.#control.length, controlBytes);
    for (let offset = 0; offset + controlHeaderBytes <= endBytes; ) {
      const word = offset >> 2;
      const length = words[word] ?? 0;
      if (length < controlHeaderBytes || offset + length > endBytes) break;
      const level = words[word + 2] ?? 0;
      const type = words[word + 3] ?? 0;
      if (level === SOL_SOCKET && type === SO_TIMESTAMPNS) this.#stampAt = word + 4;
      else if (isHopCount(level, type)) this.ttl = words[word + 4];
      else if (isExtendedError(level, type)) {
        this.#errorAt = offset + controlHeaderBytes;
        this.#errorEnd = offset + length;
      }
      offset += (length + 7) & ~7;
    }
  }

  get data(): Buffer {
    return this.bytes.subarray(0, this.sizeBytes);
  }

  /** The sender; for entries of the error queue, the destination of the original packet. */
  get address(): string | undefined {
    return decodeSocketAddress(this.#name.subarray(0, this.#nameBytes));
  }

  /** Whether `address` is that of a `struct sockaddr`, whatever its port and zone. */
  isOf(socketAddress: Buffer): boolean {
    const name = this.#name;
    const family = name.readUInt16LE(0);
    if (family !== socketAddress.readUInt16LE(0) || (family !== AF_INET && family !== AF_INET6)) return false;
    const { start, end } = addressPlaces[family];
    if (this.#nameBytes < end) return false;
    for (let at = start; at < end; at += 1) if (name[at] !== socketAddress[at]) return false;
    return true;
  }

  /** When the kernel received it, on its realtime clock; for SO_EE_ORIGIN_TIMESTAMPING, when it sent it. */
  get stampedAt(): KernelTime | undefined {
    if (this.#stampAt < 0) return undefined;
    const low = this.#words[this.#stampAt] ?? 0;
    const high = this.#words[this.#stampAt + 1] ?? 0;
    return { seconds: (low >>> 0) + high * 2 ** 32, nanoseconds: this.#words[this.#stampAt + 2] ?? 0 };
  }

  /** `stampedAt` in milliseconds; see `kernelMs`. */
  get stampedMs(): number | undefined {
    if (this.#stampAt < 0) return undefined;
    const low = this.#words[this.#stampAt] ?? 0;
    const high = this.#words[this.#stampAt + 1] ?? 0;
    return kernelMs((low >>> 0) + high * 2 ** 32, this.#words[this.#stampAt + 2] ?? 0);
  }

  get error(): ExtendedError | undefined {
    if (this.#errorAt < 0) return undefined;
    return readExtendedError(this.#control.subarray(this.#errorAt, this.#errorEnd));
  }

  /** SO_EE_ORIGIN_… of the error; undefined without one. */
  get errorOrigin(): number | undefined {
    return this.#errorAt < 0 ? undefined : this.#control[this.#errorAt + 4];
  }
}

/**
 * Receives the beginnings of packets with `recvmmsg`, many at a time, into one set of buffers. Fields of `struct
 * msghdr`: name, its size, vectors, their number, control data, its size, flags; eight bytes each.
 */
export class MessageReceiver {
  readonly #libc: Libc;
  readonly #headers = Buffer.alloc(batchSize * entrySizeBytes);
  /** The headers refer to it. */
  readonly #vectors = Buffer.alloc(batchSize * 16);
  readonly #messages: ReceivedMessage[] = [];

  constructor(libc: Libc) {
    this.#libc = libc;
    const data = Buffer.alloc(batchSize * maxDataBytes);
    const names = Buffer.alloc(batchSize * maxSocketAddressBytes);
    const control = Buffer.alloc(batchSize * maxControlBytes);
    const place = (buffer: Buffer, index: number, sizeBytes: number) => ({
      slice: buffer.subarray(index * sizeBytes, (index + 1) * sizeBytes),
      address: libc.addressOf(buffer) + BigInt(index * sizeBytes),
    });
    const vectors = libc.addressOf(this.#vectors);
    for (let index = 0; index < batchSize; index += 1) {
      const bytes = place(data, index, maxDataBytes);
      const name = place(names, index, maxSocketAddressBytes);
      const info = place(control, index, maxControlBytes);
      this.#messages.push(new ReceivedMessage(bytes.slice, name.slice, info.slice));
      this.#vectors.writeBigUInt64LE(bytes.address, index * 16);
      this.#vectors.writeBigUInt64LE(BigInt(maxDataBytes), index * 16 + 8);
      const header = index * entrySizeBytes;
      this.#headers.writeBigUInt64LE(name.address, header);
      this.#headers.writeBigUInt64LE(vectors + BigInt(index * 16), header + 16);
      this.#headers.writeBigUInt64LE(1n, header + 24);
      this.#headers.writeBigUInt64LE(info.address, header + 32);
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
        const message = this.#taken(index);
        this.#makeRoom(index);
        if (message) onMessage(message);
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

  #taken(index: number): ReceivedMessage | undefined {
    const message = this.#messages[index];
    const headers = this.#headers;
    const header = index * entrySizeBytes;
    message?.take(
      headers.readUInt32LE(header + sizeOffset),
      headers.readUInt32LE(header + 8),
      headers.readUInt32LE(header + 40),
    );
    return message;
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

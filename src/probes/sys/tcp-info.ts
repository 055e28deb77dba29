import { readTimespec, timespecSizeBytes } from './kernel-clock.ts';
import type { Libc } from './libc.ts';
import { CLOCK_MONOTONIC_COARSE, IPPROTO_TCP, TCP_INFO } from './linux.ts';

const bufferBytes = 256;
/** HZ=100. */
const longestStepMs = 10;
/** Offsets in `struct tcp_info` (include/uapi/linux/tcp.h), which is only ever extended at its end. */
const unconfirmedOffset = 24;
const lastDataSentOffset = 44;
const lastDataReceivedOffset = 52;
const rttOffset = 68;
const totalRetransOffset = 100;
const bytesReceivedOffset = 128;
const quickestRttOffset = 148;
const sinceBytesReceivedBytes = bytesReceivedOffset + 8;

/**
 * The kernel's information about a TCP connection. Call `read` first; the properties then describe the connection at
 * that time.
 */
export class TcpInfo {
  readonly #libc: Libc;
  readonly #buffer = Buffer.alloc(bufferBytes);
  readonly #sizeBytes = Buffer.alloc(4);

  /** Resolution of `sinceDataSentMs`: the kernel's tick, 1 to 10 ms. */
  readonly stepMs: number;

  constructor(libc: Libc) {
    this.#libc = libc;
    const step = Buffer.alloc(timespecSizeBytes);
    const isKnown = libc.clockGetres(CLOCK_MONOTONIC_COARSE, step) === 0;
    this.stepMs = isKnown ? readTimespec(step, 0).nanoseconds / 1_000_000 : longestStepMs;
  }

  /** Returns false if there is no information: not a TCP socket, or a kernel before 4.1. */
  read(descriptor: number): boolean {
    this.#sizeBytes.writeUInt32LE(bufferBytes);
    const result = this.#libc.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, this.#buffer, this.#sizeBytes);
    return result === 0 && this.#sizeBytes.readUInt32LE() >= sinceBytesReceivedBytes;
  }

  /** Segments sent but not yet acknowledged by the peer. */
  get unconfirmedCount(): number {
    return this.#buffer.readUInt32LE(unconfirmedOffset);
  }

  /** Milliseconds since data was last sent, give or take `stepMs`. */
  get sinceDataSentMs(): number {
    return this.#buffer.readUInt32LE(lastDataSentOffset);
  }

  /** Milliseconds since data last arrived, or since the connection was made; give or take `stepMs`. */
  get sinceDataReceivedMs(): number {
    return this.#buffer.readUInt32LE(lastDataReceivedOffset);
  }

  /** Smoothed round trip time, in milliseconds; right after connecting it is that of the SYN. */
  get rttMs(): number {
    return this.#buffer.readUInt32LE(rttOffset) / 1000;
  }

  /** The shortest recent round trip time, in milliseconds; 0 if the kernel does not report it. */
  get quickestRttMs(): number {
    const isTold = this.#sizeBytes.readUInt32LE() >= quickestRttOffset + 4;
    return isTold ? this.#buffer.readUInt32LE(quickestRttOffset) / 1000 : 0;
  }

  /** Segments retransmitted since the connection began, including the SYN. */
  get retransmissionCount(): number {
    return this.#buffer.readUInt32LE(totalRetransOffset);
  }

  /** Bytes received in order so far; the end of the stream counts as one. */
  get receivedBytes(): number {
    return Number(this.#buffer.readBigUInt64LE(bytesReceivedOffset));
  }
}

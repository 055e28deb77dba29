import {
  KernelClock,
  type KernelTime,
  msBetween,
  readTimespec,
  roundTripMs,
  timespecSizeBytes,
} from './kernel-clock.ts';
import type { Libc } from './libc.ts';
import { SIOCGSTAMPNS } from './linux.ts';

/** A longer send was interrupted, most likely by the receiver of the packet. */
const undisturbedMs = 0.5;
const beginning: KernelTime = { seconds: 0, nanoseconds: 0 };

/** Reads the kernel's arrival times of packets on datagram sockets. */
export class PacketClock {
  readonly #libc: Libc;
  readonly #clock: KernelClock;
  readonly #stamp = Buffer.alloc(timespecSizeBytes);

  constructor(libc: Libc) {
    this.#libc = libc;
    this.#clock = new KernelClock(libc);
  }

  /** The packet times of one open socket. */
  of(descriptor: number): SocketPacketTimes {
    // The first ioctl makes the kernel keep timestamps for this socket; its result is empty.
    this.#libc.ioctl(descriptor, SIOCGSTAMPNS, this.#stamp);
    return new SocketPacketTimes(this.#clock, () =>
      this.#libc.ioctl(descriptor, SIOCGSTAMPNS, this.#stamp) === 0
        ? readTimespec(this.#stamp, 0)
        : undefined,
    );
  }
}

/** Measures from sending a packet to the kernel's timestamp of the packet read last. */
export class SocketPacketTimes {
  readonly clock = 'kernel';
  /** Error bound of the last `elapsedMs`. */
  doubtMs = 0;
  readonly #clock: KernelClock;
  readonly #lastStamp: () => KernelTime | undefined;
  #beforeSending = beginning;
  #sentAt = beginning;
  #sentAtMonotonic = beginning;

  constructor(clock: KernelClock, lastStamp: () => KernelTime | undefined) {
    this.#clock = clock;
    this.#lastStamp = lastStamp;
  }

  beforeSending(): void {
    this.#beforeSending = this.#clock.realtime();
  }

  afterSending(): void {
    this.#sentAt = this.#clock.realtime();
    this.#sentAtMonotonic = this.#clock.monotonic();
  }

  elapsedMs(): number {
    const elapsedMs = msBetween(this.#sentAtMonotonic, this.#clock.monotonic());
    const receivedAt = this.#lastStamp();
    if (!receivedAt) return elapsedMs;
    // A nearby peer responds before the send has returned.
    const isEarly = msBetween(this.#sentAt, receivedAt) < 0;
    const sendingMs = msBetween(this.#beforeSending, this.#sentAt);
    this.doubtMs = sendingMs > undisturbedMs ? sendingMs : 0;
    if (!isEarly && sendingMs <= undisturbedMs) return roundTripMs(this.#sentAt, receivedAt, elapsedMs);
    return roundTripMs(this.#beforeSending, receivedAt, elapsedMs + Math.max(0, sendingMs));
  }
}

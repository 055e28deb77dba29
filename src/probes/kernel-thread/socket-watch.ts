import type { StampClock } from '../sys/kernel-clock.ts';
import type { WriteStamps } from './send-time.ts';

/**
 * Timing of one TCP connection, in addition to the events of its thread. All instants are of `performance.now()`; a
 * returned time is never later than its event.
 */
export interface SocketWatch {
  readonly clock: StampClock;
  /** Error bound of the queried times, as far as the kernel knows; 0 if unknown. */
  readonly doubtMs: number;
  /** How long the peer took to accept the connection, in milliseconds. Call it within the event itself. */
  connectMs(eventMs: number): number;
  /** When the peer's refusal arrived. */
  answeredAt(eventMs: number): number;
  /** When the peer accepted the connection: it may send from then on. @param eventMs time of the connect event. */
  readyAt(eventMs: number): number;
  /** When the data just written was sent; see writeMoment. */
  written(stamps: WriteStamps): number;
  /** When the last of the first `receivedBytes` bytes arrived, all of them read in that event. */
  arrivalOf(receivedBytes: number, eventMs: number): number;
  /** When the first byte after the first `knownBytes` arrived. `receivedBytes` were read in that event. */
  arrivalAfter(knownBytes: number, receivedBytes: number, eventMs: number): number;
  /**
   * How long the peer and the network took for their part of an exchange that ended with the first `receivedBytes`:
   * like `arrivalOf`, but without the time that this side needed to respond in between.
   *
   * @param sent when this side had sent its first data.
   */
  exchangeMs(sent: SentMoment, receivedBytes: number, eventMs: number): number;
  /** How long nothing has been sent to the peer or received from it, according to the kernel; 0 if unknown. */
  silentMs(nowMs: number): number;
  /** Ends the watch; call it before the socket is closed. */
  release(): void;
}

/** When data was sent, as far as the sender can tell. */
export interface SentMoment {
  /** The most likely time. */
  readonly atMs: number;
  /** Lower bound. */
  readonly earliestMs: number;
}

/** Timing of the packets of one UDP socket. */
export interface PacketTimes {
  readonly clock: StampClock;
  /** Error bound of the last `elapsedMs`; 0 if unknown. */
  readonly doubtMs: number;
  /** Call right before sending a packet. */
  beforeSending(): void;
  /** Call right after sending it. */
  afterSending(): void;
  /** Call in the event of a packet: milliseconds from the send to its arrival. */
  elapsedMs(): number;
}

/** Uses the time of the events themselves. */
export class EventWatch implements SocketWatch {
  readonly clock = 'event';
  readonly doubtMs = 0;
  readonly #startedMs: number;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  connectMs(eventMs: number): number {
    return eventMs - this.#startedMs;
  }

  answeredAt(eventMs: number): number {
    return eventMs;
  }

  readyAt(eventMs: number): number {
    return eventMs;
  }

  written({ afterMs }: WriteStamps): number {
    return afterMs;
  }

  arrivalOf(_receivedBytes: number, eventMs: number): number {
    return eventMs;
  }

  arrivalAfter(_knownBytes: number, _receivedBytes: number, eventMs: number): number {
    return eventMs;
  }

  exchangeMs(sent: SentMoment, _receivedBytes: number, eventMs: number): number {
    return eventMs - sent.atMs;
  }

  silentMs(): number {
    return 0;
  }

  release(): void {
    // Nothing to release.
  }
}

/** Uses the time of the events themselves. */
export class EventPackets implements PacketTimes {
  readonly clock = 'event';
  readonly doubtMs = 0;
  #sentMs = 0;

  beforeSending(): void {
    // Only the time after the send is used.
  }

  afterSending(): void {
    this.#sentMs = performance.now();
  }

  elapsedMs(): number {
    return performance.now() - this.#sentMs;
  }
}

/** How the times of a probe were measured. */
export interface ProbeMeasurement {
  /** Kernel timestamps, or events if any part relies on them. */
  readonly clock: StampClock;
  /** Processing time of this process before, between and after the phases, in milliseconds. */
  readonly overheadMs: number;
  /** Maximum delay between an event and its detection, in milliseconds. */
  readonly lagMs: number;
  /** Total error bound of the kernel timestamps, as far as known, in milliseconds. */
  readonly doubtMs?: number | undefined;
  /**
   * How long a failed probe had only been waiting for the peer, as far as the kernel knows, in milliseconds: delays of
   * the agent in that time made no difference.
   */
  readonly waitedMs?: number | undefined;
}

/** Combines the measurements of consecutive steps, with the processing time left between them. */
export function joinedMeasurement(
  steps: readonly Omit<ProbeMeasurement, 'overheadMs'>[],
  overheadMs: number,
): ProbeMeasurement {
  return {
    clock: steps.some(({ clock }) => clock === 'event') ? 'event' : 'kernel',
    overheadMs: Math.max(0, overheadMs),
    lagMs: steps.reduce((most, { lagMs }) => Math.max(most, lagMs), 0),
    doubtMs: steps.reduce((sum, { doubtMs = 0 }) => sum + doubtMs, 0),
  };
}

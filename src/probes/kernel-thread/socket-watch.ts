import type { StampClock } from '../sys/kernel-clock.ts';
import type { WriteStamps } from './send-time.ts';

/**
 * What is known of one TCP connection in addition to the events of its thread. All instants are of
 * `performance.now()`; an answer is never later than the event it is about.
 */
export interface SocketWatch {
  readonly clock: StampClock;
  /** By how much the times that were asked for may be off, as far as the kernel knows; 0 where nobody can tell. */
  readonly doubtMs: number;
  /** How long the peer took to accept the connection, in milliseconds. To be asked in the event itself. */
  connectMs(eventMs: number): number;
  /** When the peer's refusal came. */
  answeredAt(eventMs: number): number;
  /** When the peer's consent to connect came: from then on it may speak. @param eventMs of the event of the connection. */
  readyAt(eventMs: number): number;
  /** When what has just been written was sent; see writeMoment. */
  written(stamps: WriteStamps): number;
  /** When the last of the first `receivedBytes` bytes arrived, which have been read in that event. */
  arrivalOf(receivedBytes: number, eventMs: number): number;
  /**
   * When the first byte after the first `knownBytes` arrived. `receivedBytes` have been read in that event.
   */
  arrivalAfter(knownBytes: number, receivedBytes: number, eventMs: number): number;
  /**
   * How long the peer and the network took for their part of an exchange that ended with the first
   * `receivedBytes`: like `arrivalOf`, but without the time this side needed to answer in between.
   *
   * @param sent when this side had said its first word.
   */
  exchangeMs(sent: SentMoment, receivedBytes: number, eventMs: number): number;
  /**
   * For how long nothing has been sent to the peer, nor come from it, as the kernel saw it; 0 where nobody can tell.
   */
  silentMs(nowMs: number): number;
  /** Ends the watching; to be called before the socket is closed. */
  release(): void;
}

/** When something was sent, as far as its sender can tell. */
export interface SentMoment {
  /** Most likely then. */
  readonly atMs: number;
  /** Certainly not before then. */
  readonly earliestMs: number;
}

/** When the packets of one UDP socket came. */
export interface PacketTimes {
  readonly clock: StampClock;
  /** By how much the last `elapsedMs` may be off; 0 where nobody can tell. */
  readonly doubtMs: number;
  /** To be called right before a packet is sent. */
  beforeSending(): void;
  /** To be called right after. */
  afterSending(): void;
  /** To be asked in the event of a packet: milliseconds from sending to its arrival. */
  elapsedMs(): number;
}

/** Takes the events at their word. */
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
    // Nothing was taken.
  }
}

/** Takes the events at their word. */
export class EventPackets implements PacketTimes {
  readonly clock = 'event';
  readonly doubtMs = 0;
  #sentMs = 0;

  beforeSending(): void {
    // Only the time after counts.
  }

  afterSending(): void {
    this.#sentMs = performance.now();
  }

  elapsedMs(): number {
    return performance.now() - this.#sentMs;
  }
}

/** How the times of a probe came about. */
export interface ProbeMeasurement {
  /** The kernel's stamps, or, if only for a part of them, those of events. */
  readonly clock: StampClock;
  /** What this process itself needed before, between and after the phases, in milliseconds. */
  readonly overheadMs: number;
  /** How much later than it happened a step was noticed, at most, in milliseconds. */
  readonly lagMs: number;
  /** By how much the kernel's stamps may be off in all, as far as is known, in milliseconds. */
  readonly doubtMs?: number | undefined;
  /**
   * For how long a probe that failed had nothing to do but to wait for the other side, as far as the kernel knows, in
   * milliseconds: what its agent was late for meanwhile made no difference.
   */
  readonly waitedMs?: number | undefined;
}

/** How the times of several steps in a row came about, with the own time that was left over between them. */
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

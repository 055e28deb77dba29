import type { StampClock } from '../sys/kernel-clock.ts';
import type { TcpInfo } from '../sys/tcp-info.ts';
import { agreedTime, burstBytes, spanOf, type TimeSpan } from './arrival-time.ts';
import { maxWaitMs, stoodStillMs } from './messages.ts';
import type { MonotonicOffset } from './monotonic-clock.ts';
import {
  momentBefore,
  quickestAnswerMs,
  type WriteMoment,
  type WriteStamps,
  writeMoment,
} from './send-time.ts';
import type { SentMoment, SocketWatch } from './socket-watch.ts';
import type { WakeTime } from './wake-time.ts';
import type { Edge } from './watch-table.ts';

/** Node's internal handle of a socket. */
export interface NativeHandle {
  readonly fd?: number;
  /** Bytes waiting to be sent. */
  readonly writeQueueSize?: number;
}

/** The row in which the kernel thread records the events of one socket. */
export interface WatchRow {
  answeredAtMs(): number | undefined;
  edges(): readonly Edge[];
  /** Total number of arrivals. */
  edgeCount(): number;
  /** Waits until there are more arrivals than that. */
  awaitEdge(knownCount: number, timeoutMs: number): void;
  /** When the thread's last standstill ended; 0 without one. */
  standstillEndedAtMs(): number;
  /** When the thread's last wait began. */
  waitBeganAtMs(): number;
  /** Whether the thread can record events now. */
  isUp(): boolean;
  release(): void;
}

/**
 * "Time since data was sent" moves in steps of up to 10 ms (HZ=100). An apparent pause of this side of less than two
 * steps may be a rounding error.
 */
const shortestPauseMs = 20;

/** Maximum delay between the send and the return of an uninterrupted write. */
const longestReturnMs = 0.5;

/** Up to this many arrivals are read from the row once. */
const fewArrivals = 8;

/** How long an event waits for the record of its arrival: usually as long as busy processes keep a processor. */
const longestNoteMs = 25;

/**
 * A connection as recorded by the kernel thread. With each arrival the thread records the total of received bytes, and
 * the stream knows how many of them it had read in an event: together they identify the arrival of the event. If the
 * thread itself was late and has not recorded an arrival by then, the arrival counts as late as the event.
 */
export class KernelWatch implements SocketWatch {
  readonly #startedMs: number;
  readonly #descriptor: number;
  readonly #row: WatchRow;
  readonly #info: TcpInfo;
  readonly #offset: MonotonicOffset;
  /** Error bounds of the arrivals used for times, by received bytes. */
  readonly #doubts: { readonly receivedBytes: number; doubtMs: number }[] = [];
  /** Times of arrivals that the thread has not recorded, by received bytes. */
  #unnotedTimes: Map<number, WakeTime> | undefined;
  /** The arrivals so far, as of that many. */
  #known: { readonly count: number; readonly edges: readonly Edge[] } = { count: -1, edges: [] };
  #isReleased = false;
  #isLost = false;
  /** The highest byte count queried, and when it had been read; more queries about it may follow. */
  #read = { bytes: 0, atMs: 0 };
  /** Error bound of the send times. */
  #sendDoubtMs = 0;
  /** Error bound of the time from which the peer could send, if it was queried. */
  #readyDoubtMs = 0;
  /** When the last write sent its data. */
  #write: WriteMoment | undefined;
  /** When the last write began. */
  #wroteMs = Number.NEGATIVE_INFINITY;
  /** Minimum total time in which arrivals went unrecorded. */
  #unknownMs = 0;

  constructor(options: {
    readonly startedMs: number;
    readonly descriptor: number;
    readonly row: WatchRow;
    readonly info: TcpInfo;
    readonly offset: MonotonicOffset;
  }) {
    this.#startedMs = options.startedMs;
    this.#descriptor = options.descriptor;
    this.#row = options.row;
    this.#info = options.info;
    this.#offset = options.offset;
  }

  get clock(): StampClock {
    const stoodStill = this.#row.standstillEndedAtMs() > this.#toKernel(this.#startedMs);
    return this.#isLost || stoodStill ? 'event' : 'kernel';
  }

  get doubtMs(): number {
    let sumMs = this.#unknownMs + this.#sendDoubtMs + this.#readyDoubtMs;
    for (const { doubtMs } of this.#doubts) sumMs += doubtMs;
    return sumMs;
  }

  connectMs(eventMs: number): number {
    // The round trip time of the SYN is exact, but not available after a retransmission: then the loss counts, too.
    if (this.#info.read(this.#descriptor)) {
      const { rttMs, retransmissionCount } = this.#info;
      if (retransmissionCount === 0 && rttMs > 0) return Math.min(rttMs, eventMs - this.#startedMs);
    }
    return this.answeredAt(eventMs) - this.#startedMs;
  }

  answeredAt(eventMs: number): number {
    const atMs = this.#row.answeredAtMs();
    return atMs === undefined ? this.#asLateAs(eventMs) : this.#within({ atMs, doubtMs: 0 }, eventMs);
  }

  readyAt(eventMs: number): number {
    const notedMs = this.answeredAt(eventMs);
    if (!this.#info.read(this.#descriptor)) return notedMs;
    const { rttMs, retransmissionCount } = this.#info;
    if (retransmissionCount > 0 || rttMs <= 0) return notedMs;
    // No earlier than the round trip of the SYN. Either the recording thread was late, or this one was interrupted
    // after it had read the clock for the start; the timestamps cannot tell which.
    const earliestMs = this.#startedMs + rttMs;
    this.#readyDoubtMs = Math.max(0, notedMs - earliestMs);
    return notedMs;
  }

  written(stamps: WriteStamps): number {
    this.#wroteMs = stamps.beforeMs;
    this.#write = writeMoment(stamps, {
      span: () => this.#sentSpan(),
      isConfirmed: () => this.#isConfirmedBefore(stamps.afterMs),
    });
    this.#sendDoubtMs += this.#write.doubtMs;
    return this.#write.atMs;
  }

  arrivalOf(receivedBytes: number, askedMs: number): number {
    const eventMs = this.#readAt(receivedBytes, askedMs);
    const edge = this.#edgeWith((one) => one.receivedBytes >= receivedBytes, { receivedBytes, eventMs });
    return edge ? this.#within(edge, eventMs) : this.#unnoted(receivedBytes, eventMs);
  }

  arrivalAfter(knownBytes: number, receivedBytes: number, askedMs: number): number {
    // The arrival is known only as precisely as the read that delivered it.
    if (knownBytes >= receivedBytes) return this.arrivalOf(receivedBytes, askedMs);
    const eventMs = this.#readAt(receivedBytes, askedMs);
    const edge = this.#edgeWith((one) => one.receivedBytes > knownBytes, { receivedBytes, eventMs });
    if (edge) return this.#within(edge, eventMs);
    const isOneBurst = receivedBytes - knownBytes <= burstBytes;
    return isOneBurst ? this.#unnoted(receivedBytes, eventMs) : this.#unknown(eventMs);
  }

  exchangeMs(sent: SentMoment, receivedBytes: number, eventMs: number): number {
    const edge = this.#edgeWith((one) => one.receivedBytes >= receivedBytes, { receivedBytes, eventMs });
    const stampedMs = edge ? this.#within(edge, eventMs) : this.#unnoted(receivedBytes, eventMs);
    const endMs = stampedMs > sent.earliestMs ? stampedMs : eventMs;
    this.#unknownMs += endMs - stampedMs;
    const sentMs = this.#sentBefore(
      endMs,
      sent,
      this.#doubtOf(edge?.receivedBytes ?? receivedBytes)?.doubtMs,
    );
    if (!edge) return endMs - sentMs;
    // In TLS 1.2, and after a HelloRetryRequest, the client must answer a flight before it gets the next one. Data that
    // arrived before that answer had to wait for the client.
    const answeredMs = edge.atMs - edge.sinceSentMs;
    const edgesBefore = this.#edges().filter((one) => one.receivedBytes < edge.receivedBytes);
    const waiting = edgesBefore.findLast(({ atMs }) => atMs < answeredMs);
    const pauseMs = waiting ? answeredMs - Math.max(waiting.atMs, this.#toKernel(sentMs)) : 0;
    return Math.max(0, endMs - sentMs - (pauseMs >= shortestPauseMs ? pauseMs : 0));
  }

  silentMs(nowMs: number): number {
    const sinceBeganMs = nowMs - this.#startedMs;
    if (this.#row.answeredAtMs() === undefined) return sinceBeganMs;
    if (!this.#info.read(this.#descriptor)) return 0;
    const { sinceDataSentMs, sinceDataReceivedMs } = this.#info;
    return Math.min(sinceBeganMs, sinceDataSentMs, sinceDataReceivedMs);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#row.release();
  }

  /**
   * Finds the first arrival that matches. On a busy host the reader may run before the recording thread, even if both
   * were woken at once; the thread still knows the time.
   */
  #edgeWith(
    isWanted: (edge: Edge) => boolean,
    { receivedBytes, eventMs }: { readonly receivedBytes: number; readonly eventMs: number },
  ): Edge | undefined {
    // An answer given without a record is kept, even if the record arrives later.
    if (this.#unnotedTimes?.has(receivedBytes)) return undefined;
    // Counted before the search, so that an arrival recorded in between ends the wait.
    let count = this.#row.edgeCount();
    let edge = this.#edges().find(isWanted);
    const untilMs = performance.now() + longestNoteMs;
    while (!edge && this.#row.isUp()) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) break;
      this.#row.awaitEdge(count, leftMs);
      count = this.#row.edgeCount();
      edge = this.#edges().find(isWanted);
    }
    if (edge) this.#recordDoubt(edge, eventMs);
    return edge;
  }

  /**
   * Returns when that many bytes had been read: an earlier query about them may have waited for its answer, and that
   * wait must not count.
   */
  #readAt(receivedBytes: number, askedMs: number): number {
    if (receivedBytes > this.#read.bytes) this.#read = { bytes: receivedBytes, atMs: askedMs };
    return receivedBytes === this.#read.bytes ? this.#read.atMs : askedMs;
  }

  /** Data that was read has arrived: a later record does not add to the error bound. */
  #recordDoubt({ receivedBytes, atMs, doubtMs }: Edge, eventMs: number): void {
    if (this.#doubtOf(receivedBytes)) return;
    const afterEventMs = Math.max(0, atMs - this.#toKernel(eventMs));
    this.#doubts.push({ receivedBytes, doubtMs: Math.max(0, doubtMs - afterEventMs) });
  }

  #doubtOf(receivedBytes: number) {
    return this.#doubts.find((doubt) => doubt.receivedBytes === receivedBytes);
  }

  /** The arrivals of this connection so far. */
  #edges(): readonly Edge[] {
    const count = this.#row.edgeCount();
    // Of many arrivals some may be overwritten while they are read: these are read anew each time.
    if (count !== this.#known.count || count > fewArrivals) {
      const earliestMs = this.#toKernel(this.#startedMs);
      this.#known = { count, edges: this.#row.edges().filter(({ atMs }) => atMs >= earliestMs) };
    }
    return this.#known.edges;
  }

  #toKernel(performanceMs: number): number {
    return performanceMs - this.#offset.toPerformanceMs(0);
  }

  #within({ atMs, doubtMs }: WakeTime, eventMs: number): number {
    return this.#likely({ atMs: this.#offset.toPerformanceMs(atMs), doubtMs }, eventMs);
  }

  /** An arrival that may be later than its timestamp is placed after the preceding write. */
  #likely({ atMs, doubtMs }: WakeTime, eventMs: number): number {
    const answerMs = Math.min(this.#wroteMs + quickestAnswerMs, atMs + doubtMs);
    return Math.min(eventMs, Math.max(this.#startedMs, atMs, answerMs));
  }

  /**
   * Returns when the request was sent whose response arrived then, within its error bound. A response cannot precede
   * its request: in that case the sender was interrupted after sending and read the clock too late.
   */
  #sentBefore(answeredMs: number, { atMs, earliestMs }: SentMoment, doubtMs = 0): number {
    const write = this.#write ?? { atMs, earliestMs, doubtMs: 0 };
    const moment = momentBefore(write, answeredMs + doubtMs);
    this.#sendDoubtMs += moment.doubtMs - write.doubtMs;
    this.#write = moment;
    return Math.max(earliestMs, Math.min(moment.atMs, answeredMs - quickestAnswerMs));
  }

  #sentSpan(): TimeSpan {
    const askedMs = performance.now();
    if (!this.#info.read(this.#descriptor)) return { earliestMs: this.#startedMs, latestMs: askedMs };
    const age = { sinceMs: this.#info.sinceDataSentMs, stepMs: this.#info.stepMs };
    return spanOf(age, askedMs, performance.now());
  }

  /** Returns whether the peer has confirmed all data, sooner than possible if it had been sent at that time. */
  #isConfirmedBefore(sentMs: number): boolean {
    if (!this.#info.read(this.#descriptor)) return false;
    const { unconfirmedCount, quickestRttMs } = this.#info;
    return unconfirmedCount === 0 && quickestRttMs > performance.now() - sentMs + longestReturnMs;
  }

  /** Estimates an arrival that the thread has not recorded, from the kernel's own count in ticks. */
  #unnoted(receivedBytes: number, eventMs: number): number {
    const known = this.#unnotedTimes?.get(receivedBytes) ?? this.#agedTime(receivedBytes, eventMs);
    this.#unnotedTimes ??= new Map();
    this.#unnotedTimes.set(receivedBytes, known);
    const doubt = this.#doubtOf(receivedBytes);
    if (doubt) doubt.doubtMs = known.doubtMs;
    else this.#doubts.push({ receivedBytes, doubtMs: known.doubtMs });
    this.#asLateAs(eventMs);
    return this.#likely(known, eventMs);
  }

  /** Returns the time of the event, because the real arrival of the data read in it is unknown. */
  #unknown(eventMs: number): number {
    this.#unknownMs += eventMs - this.#startedMs;
    return this.#asLateAs(eventMs);
  }

  #agedTime(receivedBytes: number, eventMs: number): WakeTime {
    const askedMs = performance.now();
    const stamp = { atMs: eventMs, doubtMs: eventMs - this.#startedMs };
    // The kernel only knows the time of the last arrival.
    if (!this.#info.read(this.#descriptor) || this.#info.receivedBytes !== receivedBytes) return stamp;
    const age = { sinceMs: this.#info.sinceDataReceivedMs, stepMs: this.#info.stepMs };
    return agreedTime(stamp, spanOf(age, askedMs, performance.now()));
  }

  /**
   * Returns the time of the event, because the thread has not recorded the arrival: either it is negligibly late, or it
   * has ended, or the process resumes after a standstill that the thread has not recorded yet.
   */
  #asLateAs(eventMs: number): number {
    const waitedMs = this.#toKernel(eventMs) - this.#row.waitBeganAtMs();
    if (!this.#row.isUp() || waitedMs > maxWaitMs + stoodStillMs) this.#isLost = true;
    return eventMs;
  }
}

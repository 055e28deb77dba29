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

/** What Node keeps of a socket's descriptor. */
export interface NativeHandle {
  readonly fd?: number;
  /** Bytes that wait for being sent. */
  readonly writeQueueSize?: number;
}

/** Where the kernel's thread writes about one socket. */
export interface WatchRow {
  answeredAtMs(): number | undefined;
  edges(): readonly Edge[];
  /** How many have come in all. */
  edgeCount(): number;
  /** Waits until there are more than that many of them. */
  awaitEdge(knownCount: number, timeoutMs: number): void;
  /** When the thread stood still last, until when; 0 when it never did. */
  standstillEndedAtMs(): number;
  /** When the thread began to wait last. */
  waitBeganAtMs(): number;
  /** Whether the thread can write there now. */
  isUp(): boolean;
  release(): void;
}

/**
 * "Time since data was sent" moves in steps of up to 10 ms (HZ=100). What looks like a pause of this side of
 * less than two steps may be none.
 */
const shortestPauseMs = 20;

/** A write returns that much later than it has sent its data, at most, when nothing comes in between. */
const longestReturnMs = 0.5;

/** How long an event waits for the note about its arrival: as long as busy processes keep a processor, as a rule. */
const longestNoteMs = 25;

/**
 * What the kernel's thread saw of a connection. It notes with each arrival how many bytes have come in all,
 * and the stream tells how many had been read in an event: together they say which arrival the event is
 * about. An arrival the thread has not noted by then, because it was late itself, is as late as the event.
 */
export class KernelWatch implements SocketWatch {
  readonly #startedMs: number;
  readonly #descriptor: number;
  readonly #row: WatchRow;
  readonly #info: TcpInfo;
  readonly #offset: MonotonicOffset;
  /** Of the arrivals that times were made of, by what had come with them. */
  readonly #doubts = new Map<number, number>();
  /** Of arrivals that the thread has not noted, by what had come with them. */
  readonly #unnotedTimes = new Map<number, WakeTime>();
  #isReleased = false;
  #isLost = false;
  /** When the most bytes that were asked about had been read; questions about them may come later. */
  #read = { bytes: 0, atMs: 0 };
  /** By how much the moments of sending may be off. */
  #sendDoubtMs = 0;
  /** By how much the moment from which the peer could speak may be off, where that was asked for. */
  #readyDoubtMs = 0;
  /** When the last write sent its data. */
  #write: WriteMoment | undefined;
  /** When the last write began. */
  #wroteMs = Number.NEGATIVE_INFINITY;
  /** How long the thread did not note what had arrived, at least. */
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
    return [...this.#doubts.values()].reduce(
      (sum, doubtMs) => sum + doubtMs,
      this.#unknownMs + this.#sendDoubtMs + this.#readyDoubtMs,
    );
  }

  connectMs(eventMs: number): number {
    // The round trip of the SYN is exact, but there is none when a SYN was sent again: then the loss counts
    // too.
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
    // Not before the SYN and its way there and back. Either the thread that noted it was late, or this one was after it
    // had read the clock for the start; the stamps do not tell which.
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
    // What came is known no better than by the read that brought it.
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
    const sentMs = this.#sentBefore(endMs, sent, this.#doubts.get(edge?.receivedBytes ?? receivedBytes));
    if (!edge) return endMs - sentMs;
    // In TLS 1.2, and after a HelloRetryRequest, this side has to answer a flight before it gets the next
    // one. Whatever arrived before that answer waited for this side from then on.
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
   * The first arrival of that kind. On a busy host the reader may run before the thread that notes it, though both
   * were woken at once: the thread knows when that was.
   */
  #edgeWith(
    isWanted: (edge: Edge) => boolean,
    { receivedBytes, eventMs }: { readonly receivedBytes: number; readonly eventMs: number },
  ): Edge | undefined {
    // What was answered without a note stays so, though the note came later.
    if (this.#unnotedTimes.has(receivedBytes)) return undefined;
    // Counted before they are looked at: what is noted in between must not be waited for.
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
   * When that many bytes had been read, of which something is asked now: the answer to an earlier question about them may
   * have been waited for, and they did not arrive meanwhile.
   */
  #readAt(receivedBytes: number, askedMs: number): number {
    if (receivedBytes > this.#read.bytes) this.#read = { bytes: receivedBytes, atMs: askedMs };
    return receivedBytes === this.#read.bytes ? this.#read.atMs : askedMs;
  }

  /** What is read has arrived: that the thread may have noted it later is no doubt. */
  #recordDoubt({ receivedBytes, atMs, doubtMs }: Edge, eventMs: number): void {
    if (this.#doubts.has(receivedBytes)) return;
    const afterEventMs = Math.max(0, atMs - this.#toKernel(eventMs));
    this.#doubts.set(receivedBytes, Math.max(0, doubtMs - afterEventMs));
  }

  /** What has arrived so far. */
  #edges(): readonly Edge[] {
    const earliestMs = this.#toKernel(this.#startedMs);
    return this.#row.edges().filter(({ atMs }) => atMs >= earliestMs);
  }

  #toKernel(performanceMs: number): number {
    return performanceMs - this.#offset.toPerformanceMs(0);
  }

  #within({ atMs, doubtMs }: WakeTime, eventMs: number): number {
    return this.#likely({ atMs: this.#offset.toPerformanceMs(atMs), doubtMs }, eventMs);
  }

  /** An arrival that may have been later than its stamp came after what was written before. */
  #likely({ atMs, doubtMs }: WakeTime, eventMs: number): number {
    const answerMs = Math.min(this.#wroteMs + quickestAnswerMs, atMs + doubtMs);
    return Math.min(eventMs, Math.max(this.#startedMs, atMs, answerMs));
  }

  /**
   * When the question was sent to an answer that came then, give or take what is in doubt of that. No answer comes before its
   * question: then the sender was interrupted once it had sent, and saw the time too late.
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

  /** Whether the peer has confirmed all data, and sooner than it could have if they had been sent at that moment. */
  #isConfirmedBefore(sentMs: number): boolean {
    if (!this.#info.read(this.#descriptor)) return false;
    const { unconfirmedCount, quickestRttMs } = this.#info;
    return unconfirmedCount === 0 && quickestRttMs > performance.now() - sentMs + longestReturnMs;
  }

  /** When what was read in that event had come, of which the thread has not noted the arrival: the kernel counts it in ticks. */
  #unnoted(receivedBytes: number, eventMs: number): number {
    const known = this.#unnotedTimes.get(receivedBytes) ?? this.#agedTime(receivedBytes, eventMs);
    this.#unnotedTimes.set(receivedBytes, known);
    this.#doubts.set(receivedBytes, known.doubtMs);
    this.#asLateAs(eventMs);
    return this.#likely(known, eventMs);
  }

  /** Nobody knows for how long what was read in that event had been there. */
  #unknown(eventMs: number): number {
    this.#unknownMs += eventMs - this.#startedMs;
    return this.#asLateAs(eventMs);
  }

  #agedTime(receivedBytes: number, eventMs: number): WakeTime {
    const askedMs = performance.now();
    const stamp = { atMs: eventMs, doubtMs: eventMs - this.#startedMs };
    // The kernel knows of what came last only.
    if (!this.#info.read(this.#descriptor) || this.#info.receivedBytes !== receivedBytes) return stamp;
    const age = { sinceMs: this.#info.sinceDataReceivedMs, stepMs: this.#info.stepMs };
    return agreedTime(stamp, spanOf(age, askedMs, performance.now()));
  }

  /**
   * The thread has not noted it: it is late by less than anybody minds, or it is gone, or the process goes on
   * after a standstill and the thread has not even noted that.
   */
  #asLateAs(eventMs: number): number {
    const waitedMs = this.#toKernel(eventMs) - this.#row.waitBeganAtMs();
    if (!this.#row.isUp() || waitedMs > maxWaitMs + stoodStillMs) this.#isLost = true;
    return eventMs;
  }
}

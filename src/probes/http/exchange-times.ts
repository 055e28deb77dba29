import type { Connection } from '../connection/connection.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';
import { AnswerPosition } from './http2/answer-position.ts';
import type { Http2Wire } from './http2/session.ts';
import type { HopTimes } from './phases.ts';
import type { SendingObserver } from './sending.ts';

/** The timing interface of a connection. */
type TimedConnection = Pick<
  Connection,
  'times' | 'receivedBytes' | 'isSending' | 'beforeSending' | 'sentSince' | 'arrivalAfter' | 'arrivalOf'
>;

/** Timestamps of the steps of one exchange, from the opening of its connection. */
export class ExchangeTimes {
  readonly #connection: TimedConnection;
  /** When the connection was open. */
  #openMs = 0;
  /** When the last write of the request began: a lower bound for its departure. */
  #lastWriteMs = 0;
  /** When the connection was open, later when the request had left. */
  #sentMs = 0;
  /** When the first byte of the response arrived. */
  #firstByteMs = 0;
  /** When the last byte of the body arrived. */
  #endMs = 0;
  #finishedMs = 0;
  /** Bytes of the connection known to precede the response. */
  bytesBefore = 0;
  /** Error bound of the boundary between wait and download. */
  doubtMs = 0;
  #answer: AnswerPosition | undefined;

  constructor(connection: TimedConnection) {
    this.#connection = connection;
  }

  /** The connection is open, and the request is about to be sent. */
  begin(): void {
    this.#connection.beforeSending();
    this.#openMs = performance.now();
    this.#sentMs = this.#openMs;
    this.#lastWriteMs = this.#openMs;
    this.bytesBefore = this.#connection.receivedBytes;
    this.#answer = new AnswerPosition(this.#connection);
  }

  readonly sending: SendingObserver = {
    isSending: () => this.#connection.isSending,
    onSent: (beforeMs) => {
      if (this.#firstByteMs === 0) this.#recordSent(beforeMs);
    },
    onTicket: () => {
      if (this.#firstByteMs === 0) this.bytesBefore = this.#connection.receivedBytes;
    },
  };

  /** Observes the traffic of an HTTP/2 connection. */
  readonly http2: Http2Wire = {
    onSent: (beforeMs, isRequest) => {
      if (isRequest) this.sending.onSent(beforeMs);
    },
    onReceived: (frames) => this.#answer?.record(frames),
  };

  /** A response has begun in this event; called again for the response after an informational one. */
  recordFirstByte(): void {
    const { receivedBytes } = this.#connection;
    const eventMs = performance.now();
    if (this.#firstByteMs === 0 && this.#answer?.isKnown) {
      const { atMs, doubtMs } = this.#answer.firstByte(eventMs);
      this.#firstByteMs = atMs;
      this.doubtMs = doubtMs;
    } else this.#firstByteMs = this.#connection.arrivalAfter(this.bytesBefore, receivedBytes, eventMs);
    this.bytesBefore = receivedBytes;
  }

  /** The last byte of the response has arrived in this event. */
  recordEnd(): void {
    this.#endMs = this.#lastByteMs();
  }

  /** The exchange is over. */
  finish({ isWhole }: { readonly isWhole: boolean }): void {
    this.#finishedMs = performance.now();
    if (this.#endMs === 0) this.#endMs = isWhole ? this.#lastByteMs() : this.#finishedMs;
  }

  hop(): HopTimes {
    const { times: connection } = this.#connection;
    if (this.#sentMs === 0) return { connection, waitMs: 0, downloadMs: 0 };
    if (this.#firstByteMs === 0)
      return { connection, waitMs: this.#finishedMs - this.#sentMs, downloadMs: 0 };
    return {
      connection,
      waitMs: this.#waitMs(),
      downloadMs: Math.max(0, this.#endMs - Math.max(this.#sentMs, this.#firstByteMs)),
    };
  }

  /**
   * From the departure of the request to the first byte. A response cannot precede its request: if the timestamps say
   * so, this thread was interrupted after sending and read the clock too late. If a server responds before the whole
   * request has been sent, the wait starts at the write of the missing part.
   */
  #waitMs(): number {
    const waitMs = this.#firstByteMs - this.#sentMs;
    const mostMs = this.#firstByteMs - this.#lastWriteMs;
    return Math.max(0, waitMs, Math.min(mostMs, quickestAnswerMs));
  }

  #recordSent(beforeMs: number | undefined): void {
    if (beforeMs !== undefined) this.#lastWriteMs = beforeMs;
    this.#sentMs = beforeMs === undefined ? performance.now() : this.#connection.sentSince(beforeMs);
  }

  #lastByteMs(): number {
    return this.#connection.arrivalOf(this.#connection.receivedBytes, performance.now());
  }
}

import type { Connection } from '../connection/connection.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';
import { AnswerPosition } from './http2/answer-position.ts';
import type { Http2Wire } from './http2/session.ts';
import type { HopTimes } from './phases.ts';
import type { SendingObserver } from './sending.ts';

/** What a connection knows of its own times. */
type TimedConnection = Pick<
  Connection,
  'times' | 'receivedBytes' | 'isSending' | 'beforeSending' | 'sentSince' | 'arrivalAfter' | 'arrivalOf'
>;

/** When the steps of one exchange happened, from the moment its connection was open. */
export class ExchangeTimes {
  readonly #connection: TimedConnection;
  /** When the connection was open. */
  #openMs = 0;
  /** When the writing of the request began; not before that had it left. */
  #lastWriteMs = 0;
  /** When the connection was open, then when the request had left. */
  #sentMs = 0;
  /** When the first byte of the response arrived. */
  #firstByteMs = 0;
  /** When the last byte of the body arrived. */
  #endMs = 0;
  #finishedMs = 0;
  /** Bytes of the connection that are known to come before the response. */
  bytesBefore = 0;
  /** By how much the border between wait and download may be off. */
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

  /** What passes the connection where it is one of HTTP/2. */
  readonly http2: Http2Wire = {
    onSent: (beforeMs, isRequest) => {
      if (isRequest) this.sending.onSent(beforeMs);
    },
    onReceived: (frames) => this.#answer?.record(frames),
  };

  /** An answer has begun in this very event; again for the one after an informational one. */
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

  /** The last byte of the answer has come in this very event. */
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
   * From the request having left to the first byte. No answer comes before its question: where the stamps say
   * so, this thread was interrupted once it had sent, and saw the time too late. A server that answers before
   * it has heard everything is timed from the beginning of what it had not heard.
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

import type { Connection } from '../connection/connection.ts';
import { AnswerPosition } from '../http/http2/answer-position.ts';
import type { Http2Wire, ReceivedFrames } from '../http/http2/session.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';

/** What passes a connection, for the exchange that is under way. */
export class CallWire implements Http2Wire {
  current: Http2Wire | undefined;

  onSent(beforeMs: number, isRequest: boolean): void {
    this.current?.onSent(beforeMs, isRequest);
  }

  onReceived(frames: ReceivedFrames): void {
    this.current?.onReceived(frames);
  }
}

/** When the steps of one exchange over HTTP/2 happened. */
export class CallTimes implements Http2Wire {
  readonly #connection: Connection;
  readonly #wire: CallWire;
  #answer: AnswerPosition | undefined;
  /** When the request began to be written: it cannot have left earlier. */
  #beforeMs = 0;
  #sentMs = 0;
  #hasSent = false;
  #firstByteMs = 0;
  #endMs = 0;
  /** By how much the border between wait and download may be off. */
  doubtMs = 0;

  constructor(connection: Connection, wire: CallWire) {
    this.#connection = connection;
    this.#wire = wire;
  }

  /** What is to be sent is about to be handed to Node. */
  begin(): void {
    this.#connection.beforeSending();
    this.#beforeMs = performance.now();
    this.#sentMs = this.#beforeMs;
    this.#answer = new AnswerPosition(this.#connection);
    this.#wire.current = this;
  }

  /** The settings of HTTP/2 are written first; what answers those of the server is no part of a call. */
  onSent(beforeMs: number, isRequest: boolean): void {
    if (this.#firstByteMs > 0 || (this.#hasSent && !isRequest)) return;
    this.#hasSent = true;
    this.#beforeMs = beforeMs;
    this.#sentMs = this.#connection.sentSince(beforeMs);
  }

  onReceived(frames: ReceivedFrames): void {
    this.#answer?.record(frames);
  }

  /** The head of the answer has come in this very event. */
  recordFirstByte(): void {
    if (this.#firstByteMs > 0 || !this.#answer) return;
    const { atMs, doubtMs } = this.#answer.firstByte(performance.now());
    this.#firstByteMs = atMs;
    this.doubtMs = doubtMs;
  }

  /** The last byte of the answer has come in this very event. */
  recordEnd(): void {
    this.#endMs = this.#arrivalMs();
  }

  /** From what was sent to the head of the answer, or to now. */
  get waitMs(): number {
    if (this.#beforeMs === 0) return 0;
    if (this.#firstByteMs === 0) return performance.now() - this.#sentMs;
    // No answer comes before its question: where the stamps say so, this thread saw the time too late.
    const waitMs = this.#firstByteMs - this.#sentMs;
    return Math.max(0, waitMs, Math.min(this.#firstByteMs - this.#beforeMs, quickestAnswerMs));
  }

  /** From the head of the answer to its end. */
  get downloadMs(): number {
    return this.#firstByteMs === 0 ? 0 : Math.max(0, (this.#endMs || performance.now()) - this.#firstByteMs);
  }

  #arrivalMs(): number {
    return this.#connection.arrivalOf(this.#connection.receivedBytes, performance.now());
  }
}

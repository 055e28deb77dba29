import type { Connection } from '../connection/connection.ts';
import { AnswerPosition } from '../http/http2/answer-position.ts';
import type { Http2Wire, ReceivedFrames } from '../http/http2/session.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';

/** Forwards the traffic of a connection to the exchange in progress. */
export class CallWire implements Http2Wire {
  current: Http2Wire | undefined;

  onSent(beforeMs: number, isRequest: boolean): void {
    this.current?.onSent(beforeMs, isRequest);
  }

  onReceived(frames: ReceivedFrames): void {
    this.current?.onReceived(frames);
  }
}

/** Timestamps of the steps of one exchange over HTTP/2. */
export class CallTimes implements Http2Wire {
  readonly #connection: Connection;
  readonly #wire: CallWire;
  #answer: AnswerPosition | undefined;
  /** When the write of the request began: a lower bound for its departure. */
  #beforeMs = 0;
  #sentMs = 0;
  #hasSent = false;
  #firstByteMs = 0;
  #endMs = 0;
  /** Error bound of the boundary between wait and download. */
  doubtMs = 0;

  constructor(connection: Connection, wire: CallWire) {
    this.#connection = connection;
    this.#wire = wire;
  }

  /** Call right before passing the request to Node. */
  begin(): void {
    this.#connection.beforeSending();
    this.#beforeMs = performance.now();
    this.#sentMs = this.#beforeMs;
    this.#answer = new AnswerPosition(this.#connection);
    this.#wire.current = this;
  }

  /** The HTTP/2 settings are written first; the acknowledgement of the server's settings is not part of a call. */
  onSent(beforeMs: number, isRequest: boolean): void {
    if (this.#firstByteMs > 0 || (this.#hasSent && !isRequest)) return;
    this.#hasSent = true;
    this.#beforeMs = beforeMs;
    this.#sentMs = this.#connection.sentSince(beforeMs);
  }

  onReceived(frames: ReceivedFrames): void {
    this.#answer?.record(frames);
  }

  /** The head of the response has arrived in this event. */
  recordFirstByte(): void {
    if (this.#firstByteMs > 0 || !this.#answer) return;
    const { atMs, doubtMs } = this.#answer.firstByte(performance.now());
    this.#firstByteMs = atMs;
    this.doubtMs = doubtMs;
  }

  /** The last byte of the response has arrived in this event. */
  recordEnd(): void {
    this.#endMs = this.#arrivalMs();
  }

  /** From sending the request to the head of the response, or to now. */
  get waitMs(): number {
    if (this.#beforeMs === 0) return 0;
    if (this.#firstByteMs === 0) return performance.now() - this.#sentMs;
    // A response cannot precede its request: if the timestamps say so, this thread read the clock too late.
    const waitMs = this.#firstByteMs - this.#sentMs;
    return Math.max(0, waitMs, Math.min(this.#firstByteMs - this.#beforeMs, quickestAnswerMs));
  }

  /** From the head of the response to its end. */
  get downloadMs(): number {
    return this.#firstByteMs === 0 ? 0 : Math.max(0, (this.#endMs || performance.now()) - this.#firstByteMs);
  }

  #arrivalMs(): number {
    return this.#connection.arrivalOf(this.#connection.receivedBytes, performance.now());
  }
}

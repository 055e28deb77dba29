import type { Connection } from '../connection/connection.ts';
import { quickestAnswerMs } from '../kernel-thread/send-time.ts';

/** What Node takes to write a request on an HTTP/2 connection that is there. */
const usualRequestMs = 0.2;

/** When the steps of one exchange over HTTP/2 happened, of which Node writes at the end of a round of the event loop. */
export class CallTimes {
  readonly #connection: Connection;
  #beforeMs = 0;
  #sentMs = 0;
  #firstByteMs = 0;
  #endMs = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** What is to be sent is about to be handed to Node. */
  begin(): void {
    this.#connection.beforeSending();
    this.#beforeMs = performance.now();
    this.#sentMs = this.#beforeMs;
    setImmediate(() => this.#noteSent());
  }

  #noteSent(): void {
    if (this.#firstByteMs > 0) return;
    const nowMs = performance.now();
    const sentMs = this.#connection.sentAt(nowMs);
    this.#sentMs =
      sentMs < nowMs
        ? Math.max(this.#beforeMs, sentMs)
        : this.#connection.sentSince(this.#beforeMs, usualRequestMs);
  }

  /** The head of the answer has come in this very event. */
  noteFirstByte(): void {
    if (this.#firstByteMs === 0) this.#firstByteMs = this.#arrivalMs();
  }

  /** The last byte of the answer has come in this very event. */
  noteEnd(): void {
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

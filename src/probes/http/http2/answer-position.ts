import type { Connection } from '../../connection/connection.ts';
import type { ReceivedFrames } from './session.ts';

type StampedConnection = Pick<Connection, 'receivedBytes' | 'arrivalAfter' | 'arrivalOf'>;

/**
 * Finds the start of a response in the bytes of an HTTP/2 connection. Connection frames precede it, and a busy thread
 * reads them together with the head of the response and its end; only the kernel then knows when each arrived.
 */
export class AnswerPosition {
  readonly #connection: StampedConnection;
  /** These bytes all precede the response. */
  #knownBytes: number;
  /** Bytes read before the last read that contained something other than the response. */
  #earlierBytes: number;
  /** Bytes before the head of the response; undefined until it has arrived. */
  #before: { readonly bytes: number; readonly isExact: boolean } | undefined;

  constructor(connection: StampedConnection) {
    this.#connection = connection;
    this.#knownBytes = connection.receivedBytes;
    this.#earlierBytes = this.#knownBytes;
  }

  /** True once the head of the response has arrived. */
  get isKnown(): boolean {
    return this.#before !== undefined;
  }

  record({ sizeBytes, headOffset, isPlain }: ReceivedFrames): void {
    const { receivedBytes } = this.#connection;
    if (this.#before) return;
    if (headOffset === undefined) {
      if (receivedBytes > this.#knownBytes) this.#earlierBytes = this.#knownBytes;
      this.#knownBytes = receivedBytes;
    } else if (isPlain) {
      this.#before = { bytes: receivedBytes - sizeBytes + headOffset, isExact: true };
    } else {
      // TLS hides which record a byte of the connection belongs to.
      const isExact = headOffset === 0 && receivedBytes > this.#knownBytes;
      this.#before = { bytes: isExact ? this.#knownBytes : this.#earlierBytes, isExact };
    }
  }

  /**
   * Returns when the response began, and the error bound. A response read together with connection frames counts from
   * its last byte: most responses are short.
   */
  firstByte(eventMs: number): { readonly atMs: number; readonly doubtMs: number } {
    const { receivedBytes } = this.#connection;
    const latestMs = this.#connection.arrivalOf(receivedBytes, eventMs);
    if (!this.#before) return { atMs: latestMs, doubtMs: 0 };
    const atMs = this.#connection.arrivalAfter(this.#before.bytes, receivedBytes, eventMs);
    if (this.#before.isExact) return { atMs, doubtMs: 0 };
    return { atMs: latestMs, doubtMs: Math.max(0, latestMs - atMs) };
  }
}

import type { Connection } from '../../connection/connection.ts';
import type { ReceivedFrames } from './session.ts';

type StampedConnection = Pick<Connection, 'receivedBytes' | 'arrivalAfter' | 'arrivalOf'>;

/**
 * Where in what came over a connection of HTTP/2 an answer begins. Frames about the connection come before it, and a
 * thread that is busy reads them, the head of the answer and its end at once: the kernel then knows when each came.
 */
export class AnswerPosition {
  readonly #connection: StampedConnection;
  /** All of it came before the answer. */
  #knownBytes: number;
  /** Had been read before the last read that brought anything but the answer. */
  #earlierBytes: number;
  /** What came before the head of the answer; absent until that has come. */
  #before: { readonly bytes: number; readonly isExact: boolean } | undefined;

  constructor(connection: StampedConnection) {
    this.#connection = connection;
    this.#knownBytes = connection.receivedBytes;
    this.#earlierBytes = this.#knownBytes;
  }

  /** Whether the head of the answer has come. */
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
   * When the answer that has been read began, and by how much that may be off. An answer that was read at once, with
   * frames of the connection, counts from its last byte: most answers are short.
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

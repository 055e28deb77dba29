import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

export interface ExpectedContent {
  readonly sizeBytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/** The bytes of an upload differ from those announced. */
export class ContentMismatch extends Error {
  /** Number of bytes received before the mismatch was detected. */
  readonly receivedBytes: number;

  constructor(message: string, receivedBytes: number) {
    super(message);
    this.name = 'ContentMismatch';
    this.receivedBytes = receivedBytes;
  }
}

/**
 * Passes bytes through and fails unless they match the expected content. It fails before it ends, so a reader that
 * reaches the end has the right bytes.
 */
export class VerifiedContent extends Transform {
  readonly #expected: ExpectedContent;
  readonly #hash = createHash('sha256');
  #receivedBytes = 0;

  constructor(expected: ExpectedContent) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > this.#expected.sizeBytes) {
      done(this.#mismatch(`there are more than the ${this.#expected.sizeBytes} bytes announced`));
      return;
    }
    this.#hash.update(chunk);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    const { sizeBytes, sha256 } = this.#expected;
    if (this.#receivedBytes < sizeBytes) {
      done(this.#mismatch(`only ${this.#receivedBytes} of the ${sizeBytes} bytes announced came`));
      return;
    }
    const actual = this.#hash.digest('hex');
    done(
      actual === sha256 ? null : this.#mismatch(`their SHA-256 is ${actual}, not the ${sha256} announced`),
    );
  }

  #mismatch(message: string): ContentMismatch {
    return new ContentMismatch(message, this.#receivedBytes);
  }
}

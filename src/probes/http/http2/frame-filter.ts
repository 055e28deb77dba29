/** RFC 9113 section 4.1. */
const frameHeadBytes = 9;
/** Maximum frame size without a larger setting, and we never raise it (RFC 9113 section 4.2). */
const maxFrameBytes = 16_384;

const frameType = { headers: 1, settings: 4, pushPromise: 5, continuation: 9, altSvc: 10 } as const;
const fieldBlockTypes: ReadonlySet<number> = new Set([
  frameType.headers,
  frameType.pushPromise,
  frameType.continuation,
]);
const endHeadersFlag = 4;

/**
 * Removes the ALTSVC frames from a server's HTTP/2 data. They announce alternative servers, which a monitor ignores;
 * those without an origin on stream 0, or with one on another stream, must be ignored (RFC 7838 section 4). Node ends
 * the connection at each one that it cannot use.
 *
 * Everything else passes unchanged: data without SETTINGS at the start is not HTTP/2, and a frame within the headers
 * of a response or an oversized frame violates the protocol; Node reports all of these.
 */
export class FrameFilter {
  #isFirst = true;
  #isHttp2 = true;
  #isInFieldBlock = false;
  #isDropping = false;
  /** The part of a frame head received so far. */
  #head: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the frame. */
  #leftBytes = 0;
  /** The highest stream on which a response has begun. */
  #answeredStream = 0;
  /** Offset of the first response in the bytes passed last. */
  headOffset: number | undefined;

  /** Returns the bytes to read; an incomplete frame head is buffered until it is complete. */
  passed(bytes: Buffer): Buffer {
    const kept: Buffer[] = [];
    this.headOffset = undefined;
    let rest = bytes;
    while (rest.length > 0 && this.#isHttp2) {
      if (this.#leftBytes === 0) {
        const missingBytes = frameHeadBytes - this.#head.length;
        this.#head = Buffer.concat([this.#head, rest.subarray(0, missingBytes)]);
        rest = rest.subarray(missingBytes);
        if (this.#head.length < frameHeadBytes) break;
        this.#begin(this.#head);
        if (this.#isNewAnswer(this.#head)) {
          this.headOffset ??= Math.max(0, bytes.length - rest.length - frameHeadBytes);
        }
        if (!this.#isDropping) kept.push(this.#head);
        this.#head = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, this.#leftBytes);
      if (!this.#isDropping) kept.push(part);
      this.#leftBytes -= part.length;
      rest = rest.subarray(part.length);
    }
    if (!this.#isHttp2) kept.push(rest);
    return Buffer.concat(kept);
  }

  /** Returns an incomplete head at the end of the connection. */
  rest(): Buffer {
    return this.#head;
  }

  /** Trailers, and heads after an informational one, belong to a known stream. */
  #isNewAnswer(head: Buffer): boolean {
    const stream = head.readUInt32BE(5);
    if (head.readUInt8(3) !== frameType.headers || stream <= this.#answeredStream) return false;
    this.#answeredStream = stream;
    return true;
  }

  #begin(head: Buffer): void {
    const type = head.readUInt8(3);
    this.#leftBytes = head.readUIntBE(0, 3);
    this.#isHttp2 = !this.#isFirst || type === frameType.settings;
    this.#isFirst = false;
    this.#isDropping = type === frameType.altSvc && !this.#isInFieldBlock && this.#leftBytes <= maxFrameBytes;
    if (fieldBlockTypes.has(type)) this.#isInFieldBlock = (head.readUInt8(4) & endHeadersFlag) === 0;
  }
}

/** RFC 9113 section 4.1. */
const frameHeadBytes = 9;
/** What a peer may send at most unless it is allowed more, which it is not (RFC 9113 section 4.2). */
const maxFrameBytes = 16_384;

const frameType = { headers: 1, settings: 4, pushPromise: 5, continuation: 9, altSvc: 10 } as const;
const fieldBlockTypes: ReadonlySet<number> = new Set([
  frameType.headers,
  frameType.pushPromise,
  frameType.continuation,
]);
const endHeadersFlag = 4;

/**
 * Takes the ALTSVC frames out of what a server sends over HTTP/2. They say where else the server could be asked,
 * which a monitor does not want to know, and those without an origin on stream 0, or with one on another stream, must
 * be ignored (RFC 7838 section 4). Node ends the connection at each that it cannot use.
 *
 * Everything else passes as it came: what begins without SETTINGS is no HTTP/2, a frame within the headers of an
 * answer or one that is too long breaks the rules, and Node says so.
 */
export class FrameFilter {
  #isFirst = true;
  #isHttp2 = true;
  #isInFieldBlock = false;
  #isDropping = false;
  /** What of the head of a frame came so far. */
  #head: Buffer = Buffer.alloc(0);
  /** What is still to come of the frame. */
  #leftBytes = 0;
  /** The last stream that an answer has begun on. */
  #answeredStream = 0;
  /** Where the first answer begins in the bytes that were passed last. */
  headOffset: number | undefined;

  /** What of these bytes is to be read; a head that is not whole is kept until it is. */
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

  /** What came of a head before the connection ended. */
  rest(): Buffer {
    return this.#head;
  }

  /** Trailers, and heads after an informational one, are of a stream that is known. */
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

/** Limit for the bytes read in a dialogue. */
export const maxDialogueBytes = 1024 * 1024;

/** Splits received bytes into lines. Its memory is bounded by the limit on received bytes. */
export class LineReader {
  #bytes = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** Total bytes received. */
  sizeBytes = 0;

  /** @returns false if the limit is exceeded. */
  add(chunk: Buffer): boolean {
    this.sizeBytes += chunk.length;
    if (this.sizeBytes > maxDialogueBytes) return false;
    const neededBytes = this.#end + chunk.length;
    if (neededBytes > this.#bytes.length) {
      // A single growing buffer: a peer that sends single bytes must not cost a buffer for each.
      const grown = Buffer.alloc(Math.max(neededBytes, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#end);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end = neededBytes;
    return true;
  }

  /** Returns the next complete line, without its terminator; undefined if there is no complete line. */
  line(): string | undefined {
    const found = this.#bytes.subarray(0, this.#end).indexOf(0x0a, this.#start);
    if (found < 0) return undefined;
    const text = this.#bytes.toString('utf8', this.#start, found);
    this.#start = found + 1;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }

  /** The received part of an incomplete line. */
  get rest(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }

  get hasRest(): boolean {
    return this.#start < this.#end;
  }

  /** Consumes the rest as a line. */
  dropRest(): void {
    this.#start = this.#end;
  }
}

/** Most bytes that are read of a dialogue. */
export const maxDialogueBytes = 1024 * 1024;

/** Bytes as they come, line by line. What it holds is bounded by what it takes. */
export class LineReader {
  #bytes = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  /** Of all that came. */
  sizeBytes = 0;

  /** @returns false when that is more than is read. */
  add(chunk: Buffer): boolean {
    this.sizeBytes += chunk.length;
    if (this.sizeBytes > maxDialogueBytes) return false;
    const neededBytes = this.#end + chunk.length;
    if (neededBytes > this.#bytes.length) {
      // One buffer that grows, because a peer that sends single bytes must not cost a buffer for each.
      const grown = Buffer.alloc(Math.max(neededBytes, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.#end);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end = neededBytes;
    return true;
  }

  /** The next whole line, without its end; undefined where there is none. */
  line(): string | undefined {
    const found = this.#bytes.subarray(0, this.#end).indexOf(0x0a, this.#start);
    if (found < 0) return undefined;
    const text = this.#bytes.toString('utf8', this.#start, found);
    this.#start = found + 1;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }

  /** What has come of a line that has not ended. */
  get rest(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }

  get hasRest(): boolean {
    return this.#start < this.#end;
  }

  /** The rest counts as a line. */
  dropRest(): void {
    this.#start = this.#end;
  }
}

/** The last bytes of an output, however long it was: the end usually says what went wrong. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.length;
    // Copies once in a while, so that a talkative job costs little.
    if (this.#sizeBytes <= 16 * this.#maxBytes) return;
    const kept = this.bytes();
    this.#chunks = [kept];
    this.#sizeBytes = kept.length;
  }

  bytes(): Buffer {
    const all = Buffer.concat(this.#chunks);
    if (all.length <= this.#maxBytes) return Buffer.from(all);
    let start = all.length - this.#maxBytes;
    // Not within a character of UTF-8.
    while (start < all.length && ((all[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return Buffer.from(all.subarray(start));
  }
}

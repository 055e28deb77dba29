/** Splits a stream into lines and truncates each at a maximum, which also bounds the memory for an endless line. */
export class EventLines {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  #parts: Buffer[] = [];
  #sizeBytes = 0;

  constructor(maxBytes: number, onLine: (line: string) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#finish();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** The last line may lack its terminator. */
  end(): void {
    if (this.#sizeBytes > 0) this.#finish();
  }

  #keep(part: Buffer): void {
    const kept = part.subarray(0, this.#maxBytes - this.#sizeBytes);
    if (kept.length === 0) return;
    this.#parts.push(kept);
    this.#sizeBytes += kept.length;
  }

  #finish(): void {
    const line = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#sizeBytes = 0;
    this.#onLine(line);
  }
}

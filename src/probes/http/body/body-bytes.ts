/** Blocks grow with the body, between these sizes. */
const blockSizes = { leastBytes: 16 * 1024, mostBytes: 1024 * 1024 };
/** A body in one piece of up to this size is copied once, into Node's pool: blocks cost more than they free. */
const mostPooledBytes = 4000;

/**
 * Collects bytes in blocks of its own: its memory stays close to the number of bytes, however small the pieces are and
 * however large the buffers behind them.
 */
export class BodyBytes {
  readonly #blocks: Buffer[] = [];
  /** Offset of the next byte in the last block. */
  #end = 0;
  sizeBytes = 0;
  /** The first piece, if it is small and the only one so far. */
  #only: Buffer | undefined;

  /** Allocated memory. */
  get heldBytes(): number {
    if (this.#only) return this.#only.length;
    return this.#blocks.reduce((sum, { length }) => sum + length, 0);
  }

  add(piece: Buffer): void {
    if (this.sizeBytes === 0 && piece.length <= mostPooledBytes) {
      this.#only = Buffer.from(piece);
      this.sizeBytes = piece.length;
      return;
    }
    const first = this.#only;
    if (first) {
      this.#only = undefined;
      this.sizeBytes = 0;
      this.#copy(first);
    }
    this.#copy(piece);
  }

  #copy(piece: Buffer): void {
    let position = 0;
    while (position < piece.length) {
      let block = this.#blocks.at(-1);
      if (!block || this.#end === block.length) {
        const { leastBytes, mostBytes } = blockSizes;
        // Not from Node's pool: a slice of it could not be freed on its own.
        block = Buffer.allocUnsafeSlow(Math.min(mostBytes, Math.max(leastBytes, this.sizeBytes)));
        this.#blocks.push(block);
        this.#end = 0;
      }
      const copied = piece.copy(block, this.#end, position);
      this.#end += copied;
      this.sizeBytes += copied;
      position += copied;
    }
  }

  /** Returns all bytes in one buffer and ends the collection. Each block is freed once it is copied. */
  join(): Buffer {
    if (this.#only) return this.#only;
    const joined = Buffer.allocUnsafeSlow(this.sizeBytes);
    let position = 0;
    for (const block of this.#blocks) {
      position += block.copy(joined, position, 0, Math.min(block.length, this.sizeBytes - position));
      freeBytes(block);
    }
    this.#blocks.length = 0;
    return joined;
  }
}

/**
 * Frees the memory of a buffer immediately, without waiting for garbage collection. A buffer of Node's pool stays: its
 * memory has other owners, too.
 */
export function freeBytes(bytes: Buffer): void {
  if (bytes.length < bytes.buffer.byteLength) return;
  (bytes.buffer as ArrayBuffer).transfer(0);
}

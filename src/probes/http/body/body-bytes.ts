/** Blocks grow with the body, between these sizes. */
const blockSizes = { leastBytes: 16 * 1024, mostBytes: 1024 * 1024 };

/**
 * Collects bytes in blocks of its own: its memory stays close to the number of bytes, however small the pieces are and
 * however large the buffers behind them.
 */
export class BodyBytes {
  readonly #blocks: Buffer[] = [];
  /** Offset of the next byte in the last block. */
  #end = 0;
  sizeBytes = 0;

  /** Allocated memory. */
  get heldBytes(): number {
    return this.#blocks.reduce((sum, { length }) => sum + length, 0);
  }

  add(piece: Buffer): void {
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

/** Frees the memory of an unpooled buffer immediately, without waiting for garbage collection. */
export function freeBytes(bytes: Buffer): void {
  (bytes.buffer as ArrayBuffer).transfer(0);
}

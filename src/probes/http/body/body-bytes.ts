/** Blocks grow with the body, between these sizes. */
const blockSizes = { leastBytes: 16 * 1024, mostBytes: 1024 * 1024 };

/**
 * Bytes that come in pieces, kept in blocks of their own: the memory they take is near their number, however
 * small the pieces were and whatever the buffers hold that they came in.
 */
export class BodyBytes {
  readonly #blocks: Buffer[] = [];
  /** Where the next byte goes in the last block. */
  #end = 0;
  sizeBytes = 0;

  /** The memory that is taken. */
  get heldBytes(): number {
    return this.#blocks.reduce((sum, { length }) => sum + length, 0);
  }

  add(piece: Buffer): void {
    let position = 0;
    while (position < piece.length) {
      let block = this.#blocks.at(-1);
      if (!block || this.#end === block.length) {
        const { leastBytes, mostBytes } = blockSizes;
        // Memory of its own: a part of Node's pool could not be given back alone.
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

  /** All of them in one piece; ends the collecting. Each block is given back once it is copied. */
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

/** Frees the memory of a buffer that has its own, now, and not when it is collected some day. */
export function freeBytes(bytes: Buffer): void {
  (bytes.buffer as ArrayBuffer).transfer(0);
}

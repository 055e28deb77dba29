import { Transform, type TransformCallback } from 'node:stream';
import { constants, zstdDecompressSync } from 'node:zlib';

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const sizesOfDictionaryId = [0, 1, 2, 4];
const sizesOfContentSize = [0, 2, 4, 8];
const checksumBytes = 4;

/** The parts of a frame (RFC 8878 section 3.1). */
type Part = 'magic' | 'descriptor' | 'header' | 'block' | 'content' | 'checksum' | 'skippable' | 'skipped';

/** Lengths of the parts whose value determines the next part. */
const valueBytes: Readonly<Partial<Record<Part, number>>> = {
  magic: 4,
  descriptor: 1,
  block: 3,
  skippable: 4,
};

/** Follows Zstandard data from frame to frame, without decoding it. */
class FrameWatch {
  #part: Part = 'magic';
  #leftBytes = 4;
  /** The value of the current part as far as it is read, least significant byte first. */
  #value = 0;
  #readBytes = 0;
  #hasChecksum = false;
  #isLastBlock = false;
  /** Whether the data contains something other than a frame. */
  isMalformed = false;

  /** Whether the data may end here. */
  get isBetweenFrames(): boolean {
    return this.#part === 'magic' && this.#readBytes === 0;
  }

  /** @returns the positions in the piece at which frames end. */
  read(piece: Buffer): number[] {
    const ends: number[] = [];
    let position = 0;
    while (position < piece.length && !this.isMalformed) {
      const hasValue = valueBytes[this.#part] !== undefined;
      const takenBytes = hasValue ? 1 : Math.min(this.#leftBytes, piece.length - position);
      if (hasValue) this.#value += (piece[position] ?? 0) * 256 ** this.#readBytes;
      this.#readBytes += takenBytes;
      this.#leftBytes -= takenBytes;
      position += takenBytes;
      while (this.#leftBytes === 0) this.#enter(...this.#next());
      if (this.isBetweenFrames && !this.isMalformed) ends.push(position);
    }
    return ends;
  }

  #enter(part: Part, sizeBytes = valueBytes[part] ?? 0): void {
    this.#part = part;
    this.#leftBytes = sizeBytes;
    this.#value = 0;
    this.#readBytes = 0;
  }

  /** Returns the part that follows the current one, and its length. */
  #next(): [part: Part, sizeBytes?: number] {
    const value = this.#value;
    switch (this.#part) {
      case 'magic':
        if (value === frameMagic) return ['descriptor'];
        if (value - (value % 16) === skippableMagic) return ['skippable'];
        this.isMalformed = true;
        return ['magic'];
      case 'descriptor': {
        const isSingleSegment = (value & 0x20) !== 0;
        this.#hasChecksum = (value & 0x04) !== 0;
        const contentSizeBytes = sizesOfContentSize[value >> 6] || (isSingleSegment ? 1 : 0);
        return [
          'header',
          (isSingleSegment ? 0 : 1) + (sizesOfDictionaryId[value & 3] ?? 0) + contentSizeBytes,
        ];
      }
      case 'block': {
        this.#isLastBlock = (value & 1) === 1;
        const isRunLength = ((value >> 1) & 3) === 1;
        return ['content', isRunLength ? 1 : value >> 3];
      }
      case 'content':
        if (!this.#isLastBlock) return ['block'];
        return this.#hasChecksum ? ['checksum', checksumBytes] : ['magic'];
      case 'header':
        return ['block'];
      case 'skippable':
        return ['skipped', value];
      default:
        return ['magic'];
    }
  }
}

/**
 * Passes Zstandard data on so that no piece crosses the end of a frame. Node's decoder skips data that follows a frame
 * within one piece, and accepts truncated data as complete. Here such data is an error.
 */
export class ZstdFrames extends Transform {
  readonly #watch = new FrameWatch();

  constructor() {
    // Object mode keeps the pieces separate: byte mode could join them again.
    super({ readableObjectMode: true });
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let start = 0;
    for (const end of this.#watch.read(piece)) {
      this.push(piece.subarray(start, end));
      start = end;
    }
    if (start < piece.length) this.push(piece.subarray(start));
    done(this.#watch.isMalformed ? dataError('Z_DATA_ERROR', 'the data is not a Zstandard frame') : null);
  }

  override _flush(done: TransformCallback): void {
    done(this.#watch.isBetweenFrames ? null : dataError('Z_BUF_ERROR', 'unexpected end of file'));
  }
}

/**
 * Decodes all frames of Zstandard data and the available part of a truncated last frame; ignores trailing bytes.
 *
 * @throws RangeError when the output exceeds the limit, Error when the first frame is damaged
 */
export function unpackZstd(bytes: Buffer, { maxOutputLength }: { readonly maxOutputLength: number }): Buffer {
  const watch = new FrameWatch();
  const ends = watch.read(bytes);
  if (!watch.isBetweenFrames && !watch.isMalformed) ends.push(bytes.length);
  const parts: Buffer[] = [];
  let start = 0;
  let leftBytes = maxOutputLength;
  for (const end of ends) {
    const part = zstdDecompressSync(bytes.subarray(start, end), {
      maxOutputLength: Math.max(1, leftBytes),
      // A truncated frame is not an error.
      finishFlush: constants.ZSTD_e_flush,
    });
    leftBytes -= part.length;
    parts.push(part);
    start = end;
  }
  return Buffer.concat(parts);
}

/** Creates an error equal to that of the `node:zlib` decoders. */
function dataError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

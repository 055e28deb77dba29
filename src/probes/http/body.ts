import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ProbeError } from '../connection/errors.ts';

/** What became of a response body. */
export interface CollectedBody {
  readonly bytes: Buffer;
  /** True when there was more than the limit; the rest was not read. */
  readonly isTruncated: boolean;
}

/**
 * Collects a body up to a limit of decoded bytes, undoing its content encodings on the way. Memory stays near
 * the limit however well the body was compressed: decoding is a stream that stops when the limit is reached.
 */
export class BodyCollector {
  readonly #limitBytes: number;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #isFull = false;
  #decoding: Transform[] | undefined;
  readonly #encodings: readonly string[];
  #failure: ProbeError | undefined;
  readonly #peer: string;
  readonly #onStop: () => void;
  #onDone: (() => void) | undefined;
  #onDrain: (() => void) | undefined;

  /**
   * @param options.onStop called once when nothing more needs to be read: the body is over the limit or
   * damaged.
   */
  constructor(options: {
    readonly limitBytes: number;
    readonly contentEncoding: string | undefined;
    /** Whose body it is, for messages. */
    readonly peer: string;
    readonly onStop: () => void;
  }) {
    this.#limitBytes = options.limitBytes;
    this.#peer = options.peer;
    this.#onStop = options.onStop;
    this.#encodings = encodingsOf(options.contentEncoding);
  }

  /**
   * Takes the next bytes from the wire.
   *
   * @returns false when the caller should pause until `onDrain` is called.
   */
  write(chunk: Buffer, onDrain: () => void): boolean {
    if (this.#isFull || this.#failure) return true;
    if (this.#encodings.length === 0) {
      this.#collect(chunk);
      return true;
    }
    const stages = this.#decoding ?? this.#startDecoding(chunk);
    if (stages[0]?.write(chunk) !== false) return true;
    this.#onDrain = onDrain;
    return false;
  }

  /** Says that the wire has nothing more, and calls back when everything is decoded. */
  end(onDone: (error: ProbeError | null) => void): void {
    const done = () => onDone(this.#failure ?? null);
    if (!this.#decoding || this.#isFull || this.#failure) {
      done();
      return;
    }
    this.#onDone = done;
    this.#decoding[0]?.end();
  }

  /** Why the body could not be decoded, if so. */
  get failure(): ProbeError | undefined {
    return this.#failure;
  }

  /** What was collected so far. */
  result(): CollectedBody {
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks, this.#sizeBytes);
    return { bytes, isTruncated: this.#isFull };
  }

  destroy(): void {
    this.#onDone = undefined;
    this.#onDrain = undefined;
    for (const stream of this.#decoding ?? []) stream.destroy();
  }

  #collect(chunk: Buffer): void {
    if (this.#isFull) return;
    const roomBytes = this.#limitBytes - this.#sizeBytes;
    if (chunk.length <= roomBytes) {
      this.#chunks.push(chunk);
      this.#sizeBytes += chunk.length;
      return;
    }
    if (roomBytes > 0) this.#chunks.push(chunk.subarray(0, roomBytes));
    this.#sizeBytes = this.#limitBytes;
    this.#isFull = true;
    for (const stream of this.#decoding ?? []) stream.destroy();
    this.#onStop();
  }

  #startDecoding(firstChunk: Buffer): Transform[] {
    // Encodings are listed in the order they were applied, so the last one is undone first (RFC 9110 section
    // 8.4).
    const streams = this.#encodings
      .toReversed()
      .map((encoding, index) => decoderFor(encoding, index === 0 ? firstChunk : undefined));
    this.#decoding = streams;
    streams[0]?.on('drain', () => this.#resume());
    for (const [index, stream] of streams.entries()) {
      stream.on('error', (error: Error) => this.#fail(error));
      const next = streams[index + 1];
      if (next) stream.pipe(next);
    }
    const exit = streams.at(-1);
    exit?.on('data', (chunk: Buffer) => this.#collect(chunk));
    exit?.once('end', () => this.#onDone?.());
    return streams;
  }

  #resume(): void {
    const onDrain = this.#onDrain;
    this.#onDrain = undefined;
    onDrain?.();
  }

  #fail(error: Error): void {
    if (this.#isFull || this.#failure) return;
    const message = `the body is not valid ${this.#encodings.join(', ')}: ${error.message} (${this.#peer})`;
    this.#failure = new ProbeError('body-undecodable', 'download', message);
    const onDone = this.#onDone;
    this.destroy();
    if (onDone) onDone();
    else this.#onStop();
  }
}

const knownEncodings: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);

/** More stages than any honest server uses; each costs memory and time. */
const maxEncodings = 5;

/**
 * The encodings of a header that have to be undone; none when one of them is unknown or there are too many:
 * the body then stays as it came.
 */
function encodingsOf(contentEncoding: string | undefined): readonly string[] {
  if (contentEncoding === undefined) return [];
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity');
  const isDecodable =
    encodings.length <= maxEncodings && encodings.every((encoding) => knownEncodings.has(encoding));
  return isDecodable ? encodings : [];
}

function decoderFor(encoding: string, firstChunk: Buffer | undefined): Transform {
  switch (encoding) {
    case 'br':
      return createBrotliDecompress();
    case 'zstd':
      return createZstdDecompress();
    case 'deflate':
      // Meant is the zlib format (RFC 9110 section 8.4.1.2), but some servers send bare deflate data. In zlib
      // the low half of the first byte is always 8.
      return ((firstChunk?.[0] ?? 8) & 0x0f) === 8 ? createInflate() : createInflateRaw();
    default:
      return createGunzip();
  }
}

import type { Transform } from 'node:stream';
import { ProbeError } from '../../connection/errors.ts';
import { BodyBytes } from './body-bytes.ts';
import type { BodyShare } from './body-memory.ts';
import { decodersFor, encodingsToUndo } from './decoding.ts';

/** A response body as far as it was read. */
export interface CollectedBody {
  readonly bytes: Buffer;
  /** True if the body exceeded the limit or broke off. */
  readonly isTruncated: boolean;
  /** True if the body exceeded the limit; the rest was not read. */
  readonly isOverLimit: boolean;
}

/** Flow control for the source of a body. */
export interface BodySource {
  /** Pause: no more data can be taken for now. */
  onFull(): void;
  onDrained(): void;
  /** Called once if the rest need not be read: the body is over the limit or damaged. */
  onStop(): void;
}

/**
 * Collects a body up to a limit of decoded bytes, and decodes its encodings. Memory stays near the limit even for
 * highly compressed bodies: decoding is a stream that stops at the limit. While the share of memory waits for more, the
 * peer is paused.
 */
export class BodyCollector {
  readonly #limitBytes: number;
  readonly #bytes = new BodyBytes();
  #isFull = false;
  #decoding: Transform[] | undefined;
  readonly #encodings: readonly string[];
  #failure: ProbeError | undefined;
  readonly #peer: string;
  readonly #source: BodySource;
  readonly #share: BodyShare | undefined;
  #onDone: (() => void) | undefined;

  constructor(options: {
    readonly limitBytes: number;
    /** Encodings in the order they were applied: content encodings, then transfer codings. */
    readonly encodings: readonly string[];
    /** The peer, for messages. */
    readonly peer: string;
    readonly source: BodySource;
    /** The memory share of the body; absent for a body with a small limit. */
    readonly share?: BodyShare | undefined;
  }) {
    this.#limitBytes = options.limitBytes;
    this.#peer = options.peer;
    this.#source = options.source;
    this.#share = options.share;
    this.#encodings = encodingsToUndo(options.encodings);
  }

  /** Takes the next bytes from the wire. */
  write(chunk: Buffer): void {
    if (this.#isFull || this.#failure) return;
    if (this.#encodings.length === 0) {
      this.#collect(chunk, this.#source.onFull, this.#source.onDrained);
      return;
    }
    const [first] = this.#decoding ?? this.#startDecoding(chunk);
    if (first?.write(chunk) === false) this.#source.onFull();
  }

  /** Ends the input; calls back once everything is decoded. */
  end(onDone: (error: ProbeError | null) => void): void {
    const done = () => onDone(this.#failure ?? null);
    if (!this.#decoding || this.#isFull || this.#failure) {
      done();
      return;
    }
    this.#onDone = done;
    this.#decoding[0]?.end();
  }

  /** Stops reading: the body exceeds its limit. */
  stop(): void {
    if (this.#isFull || this.#failure) return;
    this.#isFull = true;
    for (const stream of this.#decoding ?? []) stream.destroy();
    this.#source.onStop();
  }

  /** The decoding error, if any. */
  get failure(): ProbeError | undefined {
    return this.#failure;
  }

  /** Returns the collected bytes and ends the collection. */
  result(): CollectedBody {
    const bytes = this.#bytes.join();
    this.#share?.own(bytes);
    return { bytes, isTruncated: this.#isFull, isOverLimit: this.#isFull };
  }

  destroy(): void {
    this.#onDone = undefined;
    for (const stream of this.#decoding ?? []) stream.destroy();
  }

  /** @param onFull called if the source must pause until `onDrained` is called. */
  #collect(chunk: Buffer, onFull: () => void, onDrained: () => void): void {
    if (this.#isFull) return;
    const roomBytes = this.#limitBytes - this.#bytes.sizeBytes;
    this.#bytes.add(chunk.length <= roomBytes ? chunk : chunk.subarray(0, roomBytes));
    if (chunk.length > roomBytes) this.stop();
    else if (this.#share?.hold(this.#bytes.heldBytes, onDrained) === false) onFull();
  }

  #startDecoding(firstChunk: Buffer): Transform[] {
    const streams = decodersFor(this.#encodings, firstChunk);
    this.#decoding = streams;
    streams[0]?.on('drain', this.#source.onDrained);
    for (const stream of streams) stream.on('error', (error: Error) => this.#fail(error));
    const exit = streams.at(-1);
    const rest = () => exit?.pause();
    const goOn = () => exit?.resume();
    exit?.on('data', (chunk: Buffer) => this.#collect(chunk, rest, goOn));
    exit?.once('end', () => this.#onDone?.());
    return streams;
  }

  #fail(error: Error): void {
    if (this.#isFull || this.#failure) return;
    const message = `the body is not valid ${this.#encodings.join(', ')}: ${error.message} (${this.#peer})`;
    this.#failure = new ProbeError('body-undecodable', 'download', message);
    const onDone = this.#onDone;
    this.destroy();
    if (onDone) onDone();
    else this.#source.onStop();
  }
}

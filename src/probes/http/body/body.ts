import type { Transform } from 'node:stream';
import { ProbeError } from '../../connection/errors.ts';
import { BodyBytes } from './body-bytes.ts';
import type { BodyShare } from './body-memory.ts';
import { decodersFor, encodingsToUndo } from './decoding.ts';

/** What became of a response body. */
export interface CollectedBody {
  readonly bytes: Buffer;
  /** True when there was more than the limit, or the body broke off. */
  readonly isTruncated: boolean;
  /** True when there was more than the limit; the rest was not read. */
  readonly isOverLimit: boolean;
}

/** What a body that is read asks of who reads it. */
export interface BodySource {
  /** Nothing more can be taken for now. */
  onFull(): void;
  onDrained(): void;
  /** Called once when nothing more needs to be read: the body is over the limit or damaged. */
  onStop(): void;
}

/**
 * Collects a body up to a limit of decoded bytes, undoing its encodings on the way. Memory stays near
 * the limit however well the body was compressed: decoding is a stream that stops when the limit is reached.
 * While the share of memory has to wait for more, so does the peer.
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
    /** What was applied to the body, in that order: its content encodings, then its transfer codings. */
    readonly encodings: readonly string[];
    /** Whose body it is, for messages. */
    readonly peer: string;
    readonly source: BodySource;
    /** What the body counts towards; absent for a body that is small by its limit. */
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

  /** Nothing more is to be read of the body, whatever comes: it is longer than anybody takes. */
  stop(): void {
    if (this.#isFull || this.#failure) return;
    this.#isFull = true;
    for (const stream of this.#decoding ?? []) stream.destroy();
    this.#source.onStop();
  }

  /** Why the body could not be decoded, if so. */
  get failure(): ProbeError | undefined {
    return this.#failure;
  }

  /** What was collected; ends the collecting. */
  result(): CollectedBody {
    const bytes = this.#bytes.join();
    this.#share?.own(bytes);
    return { bytes, isTruncated: this.#isFull, isOverLimit: this.#isFull };
  }

  destroy(): void {
    this.#onDone = undefined;
    for (const stream of this.#decoding ?? []) stream.destroy();
  }

  /** @param onFull called when the one who brought it has to wait, until `onDrained` is called. */
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

import { Transform, type TransformCallback } from 'node:stream';
import { AnchorIndex } from '@picket/checks/secrets/shapes/anchor-index.ts';
import { toError } from '@picket/lib/errors.ts';
import { type ScrubOptions, Unscrubbable } from '../scrub-report.ts';
import { contentKind } from './content-kind.ts';
import { decodedRun, encodedLike, runFrom, runStarts, startReachBytes } from './embedded-base64.ts';
import { scrubBytes } from './scrub-bytes.ts';

const blockBytes = 64 * 1024;
/** A longer Base64 file is not decoded: if compressed it is removed, media are searched as they are. */
const maxRunBytes = 24 * 1024 * 1024;
const headLength = 64;
/** Maximum nesting of Base64 files within Base64 files. */
const maxDepth = 3;
const index = new AnchorIndex(runStarts());

/** Returns a copy of an archive without secrets. */
export type RepackZip = (bytes: Buffer) => Promise<{ readonly bytes: Buffer; readonly count: number }>;

interface Pieces {
  readonly pieces: readonly Buffer[];
  /** End of the processed bytes; the rest waits for more input. */
  readonly upTo: number;
  readonly count: number;
}

/**
 * Scrubs files embedded as Base64 in a text: attachments in a report, bodies in a HAR file, data URLs. Each is decoded,
 * scrubbed according to its format, and encoded again; one that cannot be scrubbed is replaced by the mask.
 */
export class EmbeddedFiles {
  readonly #options: ScrubOptions;
  readonly #repackZip: RepackZip;
  readonly #depth: number;
  /** Whether the run being removed continues. */
  #isDropping = false;

  constructor(options: ScrubOptions, repackZip: RepackZip, depth = 0) {
    this.#options = options;
    this.#repackZip = repackZip;
    this.#depth = depth;
  }

  /** Scrubs a whole text. */
  async scrub(bytes: Buffer): Promise<{ readonly bytes: Buffer; readonly count: number }> {
    const { pieces, count } = await this.next(bytes, true);
    return count === 0 ? { bytes, count } : { bytes: Buffer.concat(pieces), count };
  }

  /** Scrubs the next bytes of a text, continuing after the last ones. */
  async next(bytes: Buffer, isLast: boolean): Promise<Pieces> {
    const pieces: Buffer[] = [];
    let count = 0;
    let at = 0;
    if (this.#isDropping) {
      const { end, isOpen } = runFrom(bytes, 0);
      if (isOpen && !isLast) return { pieces, upTo: end, count };
      this.#isDropping = false;
      at = end;
    }
    for (const start of startsIn(bytes)) {
      if (start < at) continue;
      const { end, isOpen } = runFrom(bytes, start);
      if (isOpen && !isLast) {
        const isTooLong = bytes.length - start > maxRunBytes;
        if (!isTooLong) {
          // Keep the anchor of the run: it must be found again with the next bytes.
          const upTo = Math.max(at, start - startReachBytes);
          return { pieces: [...pieces, bytes.subarray(at, upTo)], upTo, count };
        }
        if (!isPacked(decodedRun(bytes, start, start + headLength))) break;
        this.#isDropping = true;
        pieces.push(bytes.subarray(at, start), Buffer.from(this.#options.mask));
        return { pieces, upTo: end, count: count + 1 };
      }
      const scrubbed = await this.#scrubbedRun(bytes, start, end);
      if (scrubbed === undefined) continue;
      pieces.push(bytes.subarray(at, start), Buffer.from(scrubbed));
      count += 1;
      at = end;
    }
    const upTo = isLast ? bytes.length : Math.max(at, bytes.length - startReachBytes);
    pieces.push(bytes.subarray(at, upTo));
    return { pieces, upTo, count };
  }

  /** The replacement of a run; undefined if it needs none. */
  async #scrubbedRun(bytes: Buffer, start: number, end: number): Promise<string | undefined> {
    const decoded = decodedRun(bytes, start, end);
    if (!decoded) return undefined;
    try {
      const clean = await this.#scrubbedFile(decoded);
      return clean && encodedLike(bytes.toString('latin1', start, end), clean);
    } catch (thrown) {
      if (thrown instanceof Unscrubbable) return this.#options.mask;
      throw thrown;
    }
  }

  async #scrubbedFile(file: Buffer): Promise<Buffer | undefined> {
    if (this.#depth === maxDepth) {
      if (isPacked(file)) throw new Unscrubbable('files are nested too deeply');
      return undefined;
    }
    if (contentKind(file) === 'zip') {
      const { bytes, count } = await this.#repackZip(file);
      return count > 0 ? bytes : undefined;
    }
    const inner = await new EmbeddedFiles(this.#options, this.#repackZip, this.#depth + 1).scrub(file);
    const { bytes, count } = scrubBytes(inner.bytes, this.#options);
    return count + inner.count > 0 ? bytes : undefined;
  }
}

function isPacked(start: Buffer | undefined): boolean {
  const kind = start ? contentKind(start) : 'text';
  return kind !== 'text' && kind !== 'media' && kind !== 'capture';
}

function startsIn(bytes: Buffer): number[] {
  const starts: number[] = [];
  index.forEachAnchor(bytes, (shape, at) => {
    for (const { start } of shape.rangesAt(bytes, at)) starts.push(start);
  });
  return starts.sort((a, b) => a - b);
}

/** The same for a stream; it buffers at most the longest file that is decoded. */
export class EmbeddedStream extends Transform {
  readonly #files: EmbeddedFiles;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #wantedBytes = blockBytes;
  #replacedCount = 0;

  constructor(options: ScrubOptions, repackZip: RepackZip) {
    super();
    this.#files = new EmbeddedFiles(options, repackZip);
  }

  get replacedCount(): number {
    return this.#replacedCount;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes < this.#wantedBytes) done();
    else void this.#scrub(false, done);
  }

  override _flush(done: TransformCallback): void {
    void this.#scrub(true, done);
  }

  async #scrub(isLast: boolean, done: TransformCallback): Promise<void> {
    try {
      const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
      const { pieces, upTo, count } = await this.#files.next(bytes, isLast);
      for (const piece of pieces) if (piece.length > 0) this.push(piece);
      this.#replacedCount += count;
      const rest = bytes.subarray(upTo);
      this.#waiting = rest.length > 0 ? [Buffer.from(rest)] : [];
      this.#waitingBytes = rest.length;
      // A long run is examined again when its size has doubled.
      this.#wantedBytes = Math.max(blockBytes, 2 * rest.length);
      done();
    } catch (thrown) {
      done(toError(thrown));
    }
  }
}

import { Transform, type TransformCallback } from 'node:stream';
import { Masking, partingBefore } from '@picket/checks/secrets/masking.ts';
import type { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import type { SecretRange } from '@picket/checks/secrets/shapes/shape.ts';

const minBlockBytes = 64 * 1024;

/**
 * Removes secrets from a stream. A secret is found across chunk boundaries: bytes that could be the beginning of one
 * are held back until its end has arrived.
 */
export class ScrubStream extends Transform {
  readonly #finder: SecretFinder;
  readonly #masking: Masking;
  readonly #blockBytes: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #replacedCount = 0;

  constructor(finder: SecretFinder, mask: string) {
    super();
    this.#finder = finder;
    this.#masking = new Masking(mask);
    // Bytes held back are searched again with the next block, so blocks are several times as long.
    this.#blockBytes = Math.max(minBlockBytes, 4 * finder.reachBytes);
  }

  /** Number of secrets replaced so far. */
  get replacedCount(): number {
    return this.#replacedCount;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= this.#blockBytes) this.#scrub(false);
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#scrub(true);
    done();
  }

  #scrub(isLast: boolean): void {
    const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
    // A secret that begins before this position ends before the end of the bytes.
    let safe = isLast ? bytes.length : Math.max(0, bytes.length - this.#finder.reachBytes);
    const ranges: SecretRange[] = [];
    for (const range of this.#finder.find(bytes)) {
      if (range.start >= safe) break;
      if (range.end > safe && !isLast) {
        safe = range.start;
        break;
      }
      ranges.push(range);
    }
    if (!isLast) safe = Math.max(ranges.at(-1)?.end ?? 0, partingBefore(bytes, safe));
    let at = 0;
    for (const { start, end, text } of this.#masking.replacements(bytes, ranges, safe)) {
      if (start > at) this.push(bytes.subarray(at, start));
      this.push(Buffer.from(text));
      at = end;
    }
    this.#replacedCount += ranges.length;
    if (safe > at) this.push(bytes.subarray(at, safe));
    const rest = bytes.subarray(safe);
    this.#waiting = rest.length > 0 ? [Buffer.from(rest)] : [];
    this.#waitingBytes = rest.length;
  }
}

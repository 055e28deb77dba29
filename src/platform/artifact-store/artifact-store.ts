import type { Readable } from 'node:stream';
import type { StorageFigures } from '../store/engine/disk/free-space.ts';
import type { ExpectedContent } from './verified-content.ts';

/** Bytes `first` to `last` of an object, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Storage for the bytes of artifacts. The service chooses the keys, with parts separated by `/`. Files of runs are
 * written once; copies of pages are replaced as a whole. Every implementation passes
 * test/integration/conformance/artifact-stores.test.ts.
 */
export interface ArtifactStore {
  /** Kind and place of the store, for logs and diagnosis. */
  readonly description: string;
  /**
   * Stores a stream under a key. No reader sees the object before all bytes are verified; a failure leaves nothing
   * behind. Storing a key again, even concurrently, is harmless: readers find one of the two objects, complete.
   *
   * @throws ContentMismatch when the bytes differ from those expected, the stream's own error when it breaks, and
   *   AppError ARTIFACT_STORE_FULL or STORE_UNAVAILABLE.
   */
  put(key: string, content: Readable, expected: ExpectedContent): Promise<void>;
  /** Returns the bytes of an object, or of a range of it; undefined if the object does not exist. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>;
  /** Disk figures of this process. Absent if the store is not on a local disk. */
  storage?(): Promise<StorageFigures>;
  /** Removes an object if it exists. */
  remove(key: string): Promise<void>;
  /** Removes every object whose key begins with `folder/`. */
  removeFolder(folder: string): Promise<void>;
  /** Resolves when pending uploads have ended; the caller has ended their streams. */
  close(): Promise<void>;
}

/**
 * Parses the single range of a `Range` header (RFC 9110, 14.1.2).
 *
 * @returns undefined when the whole object is to be sent: no header, another unit, several ranges or a malformed one
 *   (a server may ignore all of these); 'unsatisfiable' when the range starts past the end.
 */
export function parseByteRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return undefined;
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { first: sizeBytes - length, last: sizeBytes - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return undefined;
  if (Number(first) >= sizeBytes) return 'unsatisfiable';
  return { first: Number(first), last: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

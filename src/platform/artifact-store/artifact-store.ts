import type { Readable } from 'node:stream';
import type { StorageFigures } from '../store/engine/disk/free-space.ts';
import type { ExpectedContent } from './verified-content.ts';

/** Bytes `first` to `last` of an object, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Where the bytes of artifacts are kept. Keys are texts of the service's own making, parts apart by `/`. Files of runs
 * are written once; copies of pages are replaced as a whole. Every implementation passes
 * test/integration/conformance/artifact-stores.test.ts.
 */
export interface ArtifactStore {
  /** For logs and diagnosis: what it is and where. */
  readonly description: string;
  /**
   * Stores what the stream brings under a key. Nobody sees the object before it is whole and has proved to be
   * what was expected; whatever goes wrong leaves nothing behind. Storing a key again, or twice at
   * once, is harmless: readers find one of the two objects, whole.
   *
   * @throws ContentMismatch when the bytes are not those expected, the stream's own error when it breaks,
   *   and AppError ARTIFACT_STORE_FULL or STORE_UNAVAILABLE.
   */
  put(key: string, content: Readable, expected: ExpectedContent): Promise<void>;
  /** The bytes of an object, or of a part of it; undefined when there is none. */
  open(key: string, range?: ByteRange): Promise<Readable | undefined>;
  /** What this process knows of the disk it is on. Absent where it is on none. */
  storage?(): Promise<StorageFigures>;
  /** Removes an object, if there is one. */
  remove(key: string): Promise<void>;
  /** Removes every object whose key begins with `folder/`. */
  removeFolder(folder: string): Promise<void>;
  /** Resolves when what was being stored has come to its end; the caller has ended its streams. */
  close(): Promise<void>;
}

/**
 * The one range that a `Range` header asks for (RFC 9110, 14.1.2).
 *
 * @returns undefined when the whole is to be sent: no header, another unit, several ranges or a malformed
 *   one, all of which a server may ignore; 'unsatisfiable' when the range starts past the end.
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

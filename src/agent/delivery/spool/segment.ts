import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import {
  encodeRecord,
  markAt,
  readBody,
  readRecordHeader,
  segmentHeader,
  segmentHeaderBytes,
  settledMark,
} from './segment-format.ts';

/** `attempt`: a failed attempt whose run may be repeated; `final`: all others. Attempts are dropped before finals. */
export type SpoolKind = 'attempt' | 'final';

/** `pending`: on disk only; `held`: being sent; `settled`: done. */
type RecordState = 'pending' | 'held' | 'settled';

interface Entry {
  readonly at: number;
  readonly lengthBytes: number;
  readonly atMs: number;
  readonly mark: number;
  state: RecordState;
}

/**
 * One file of records of one kind.
 *
 * ACTIVE: records are appended, and each append is on disk when it returns. → SEALED by `seal`, or from the start if
 * the file was found on disk: no more records are appended, because its end may be torn. → Deleted by `remove`, once
 * all its records are settled or it is dropped. A record is pending, held while it is being sent, and then settled; a
 * held record can become pending again.
 */
export class Segment {
  readonly number: number;
  readonly kind: SpoolKind;
  readonly path: string;
  readonly #entries: Entry[] = [];
  #active: number | undefined;
  #sizeBytes: number;
  #pendingCount = 0;
  #openCount = 0;
  #firstOpen = 0;

  private constructor(
    number: number,
    kind: SpoolKind,
    place: { readonly path: string; readonly sizeBytes: number; readonly active?: number },
  ) {
    this.number = number;
    this.kind = kind;
    this.path = place.path;
    this.#sizeBytes = place.sizeBytes;
    this.#active = place.active;
  }

  /** Creates a file to append to; its directory entry survives a power failure. */
  static create(number: number, kind: SpoolKind, place: { path: string; folder: string }): Segment {
    const active = openSync(place.path, 'wx+', 0o600);
    try {
      writeAll(active, segmentHeader(), 0);
      fdatasyncSync(active);
      const folder = openSync(place.folder, 'r');
      try {
        fsyncSync(folder);
      } finally {
        closeSync(folder);
      }
    } catch (thrown) {
      closeSync(active);
      rmSync(place.path, { force: true });
      throw thrown;
    }
    return new Segment(number, kind, { path: place.path, sizeBytes: segmentHeaderBytes, active });
  }

  /** Wraps an existing file; its records are added through `found`. */
  static sealed(number: number, kind: SpoolKind, place: { path: string; sizeBytes: number }): Segment {
    return new Segment(number, kind, place);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isActive(): boolean {
    return this.#active !== undefined;
  }

  get pendingCount(): number {
    return this.#pendingCount;
  }

  /** Number of records that are not settled. */
  get openCount(): number {
    return this.#openCount;
  }

  /** When the oldest unsettled record was spooled. */
  get oldestAtMs(): number | undefined {
    while (this.#entries[this.#firstOpen]?.state === 'settled') this.#firstOpen++;
    return this.#entries[this.#firstOpen]?.atMs;
  }

  get newestAtMs(): number {
    return this.#entries.at(-1)?.atMs ?? 0;
  }

  /** Adds a record that was found in the file. */
  found(entry: Omit<Entry, 'state'>): void {
    this.#entries.push({ ...entry, state: 'pending' });
    this.#pendingCount++;
    this.#openCount++;
  }

  /**
   * Appends records, held from the start because their owner sends them. Returns the index of the first.
   *
   * @throws the error of the file system; in that case no record was appended.
   */
  append(records: readonly { readonly body: Buffer; readonly atMs: number }[]): number {
    const active = this.#active;
    if (active === undefined) throw new Error('a sealed segment accepts no records');
    const encoded = records.map(({ body, atMs }) => encodeRecord(body, atMs));
    const all = Buffer.concat(encoded);
    try {
      writeAll(active, all, this.#sizeBytes);
      fdatasyncSync(active);
    } catch (thrown) {
      // The contents of the disk are undefined after a failed fsync: the segment takes no more records.
      truncate(active, this.#sizeBytes);
      this.seal();
      throw thrown;
    }
    const first = this.#entries.length;
    encoded.forEach((record, index) => {
      this.#entries.push({
        at: this.#sizeBytes,
        lengthBytes: record.length,
        atMs: records[index]?.atMs ?? 0,
        mark: readRecordHeader(record, 0)?.mark ?? 0,
        state: 'held',
      });
      this.#sizeBytes += record.length;
    });
    this.#openCount += encoded.length;
    return first;
  }

  /** Indexes of pending records, oldest first. */
  *pending(): Generator<number> {
    for (let index = this.#firstOpen; index < this.#entries.length; index++) {
      if (this.#entries[index]?.state === 'pending') yield index;
    }
  }

  entry(index: number): Readonly<Entry> | undefined {
    return this.#entries[index];
  }

  /** Reads records; undefined for a damaged one. */
  read(indexes: readonly number[]): (Buffer | undefined)[] {
    return this.#withFile('r', (file) =>
      indexes.map((index) => {
        const entry = this.#entries[index];
        if (!entry) return undefined;
        const bytes = Buffer.allocUnsafe(entry.lengthBytes);
        if (readSync(file, bytes, 0, bytes.length, entry.at) !== bytes.length) return undefined;
        const header = readRecordHeader(bytes, 0);
        return header && readBody(bytes, 0, header);
      }),
    );
  }

  /** The raw bytes of a record. */
  raw(index: number): Buffer {
    const { at = 0, lengthBytes = 0 } = this.#entries[index] ?? {};
    return this.#withFile('r', (file) => {
      const bytes = Buffer.alloc(lengthBytes);
      return bytes.subarray(0, readSync(file, bytes, 0, lengthBytes, at));
    });
  }

  hold(index: number): void {
    this.#change(index, 'pending', 'held');
  }

  release(index: number): void {
    this.#change(index, 'held', 'pending');
  }

  /** Marks records as settled on disk. Not synced: a record whose mark is lost is sent twice, which is harmless. */
  settle(indexes: readonly number[]): void {
    const entries = indexes.flatMap((index) => this.#forget(index) ?? []);
    // A sealed segment without open records is removed anyway.
    if (entries.length === 0 || (this.#openCount === 0 && !this.isActive)) return;
    this.#withFile('r+', (file) => {
      for (const { at, mark } of entries) writeSync(file, settledMark(mark), 0, 4, at + markAt);
    });
  }

  /** Settles a record in memory; returns it, or undefined if it was settled before. */
  #forget(index: number): Entry | undefined {
    const entry = this.#entries[index];
    if (!entry || entry.state === 'settled') return undefined;
    if (entry.state === 'pending') this.#pendingCount--;
    entry.state = 'settled';
    this.#openCount--;
    return entry;
  }

  seal(): void {
    if (this.#active === undefined) return;
    closeSync(this.#active);
    this.#active = undefined;
  }

  remove(): void {
    this.seal();
    rmSync(this.path, { force: true });
  }

  #change(index: number, from: RecordState, to: RecordState): void {
    const entry = this.#entries[index];
    if (entry?.state !== from) return;
    entry.state = to;
    this.#pendingCount += to === 'pending' ? 1 : -1;
    if (to === 'pending') this.#firstOpen = Math.min(this.#firstOpen, index);
  }

  #withFile<T>(flags: 'r' | 'r+', use: (file: number) => T): T {
    if (this.#active !== undefined) return use(this.#active);
    const file = openSync(this.path, flags);
    try {
      return use(file);
    } finally {
      closeSync(file);
    }
  }
}

function writeAll(file: number, bytes: Buffer, at: number): void {
  let written = 0;
  while (written < bytes.length) {
    written += writeSync(file, bytes, written, bytes.length - written, at + written);
  }
}

function truncate(file: number, sizeBytes: number): void {
  try {
    ftruncateSync(file, sizeBytes);
  } catch {
    // The torn end is detected and skipped when the file is read.
  }
}

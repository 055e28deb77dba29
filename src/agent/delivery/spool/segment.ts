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

/**
 * `attempt`: a failed try whose run may be repeated; `final`: everything else. Attempts are dropped before
 * finals.
 */
export type SpoolKind = 'attempt' | 'final';

/** `pending`: on disk alone; `held`: somebody is sending it; `settled`: done with. */
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
 * ACTIVE: records are appended, each append on the disk when it returns. → SEALED by `seal`, and from the
 * start when it was found on disk: nothing is appended any more, because its end may be torn. → gone with
 * `remove`, once all its records are settled or it is dropped. A record is pending, held while somebody sends
 * it, and settled; a held one can become pending again.
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

  /** Makes a file to append to; it is there after a power cut, too. */
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

  /** A file that was found; its records are reported through `found`. */
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

  /** Records that are not settled. */
  get openCount(): number {
    return this.#openCount;
  }

  /** When the oldest record that is not settled was spooled. */
  get oldestAtMs(): number | undefined {
    while (this.#entries[this.#firstOpen]?.state === 'settled') this.#firstOpen++;
    return this.#entries[this.#firstOpen]?.atMs;
  }

  get newestAtMs(): number {
    return this.#entries.at(-1)?.atMs ?? 0;
  }

  /** Notes a record that the file was found to hold. */
  found(entry: Omit<Entry, 'state'>): void {
    this.#entries.push({ ...entry, state: 'pending' });
    this.#pendingCount++;
    this.#openCount++;
  }

  /**
   * Appends records, which are held from the start: their owner sends them. Returns the index of the first.
   *
   * @throws the error of the file system; nothing was appended then.
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
      // What a failed fsync left on the disk is anybody's guess: the segment takes nothing more.
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

  /** The indexes of pending records, oldest first. */
  *pending(): Generator<number> {
    for (let index = this.#firstOpen; index < this.#entries.length; index++) {
      if (this.#entries[index]?.state === 'pending') yield index;
    }
  }

  entry(index: number): Readonly<Entry> | undefined {
    return this.#entries[index];
  }

  /** Reads records; undefined stands for one that is damaged. */
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

  /** The bytes of a record as they are. */
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

  /**
   * Notes on disk that records need not be sent again. Not synced: what is lost of it is sent twice, which
   * does no harm.
   */
  settle(indexes: readonly number[]): void {
    const entries = indexes.flatMap((index) => this.#forget(index) ?? []);
    // A sealed one that is settled as a whole is about to be removed.
    if (entries.length === 0 || (this.#openCount === 0 && !this.isActive)) return;
    this.#withFile('r+', (file) => {
      for (const { at, mark } of entries) writeSync(file, settledMark(mark), 0, 4, at + markAt);
    });
  }

  /** Settles a record in memory; returns it unless it was settled. */
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
    // The torn end is found, and left out, when the file is read.
  }
}

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { errorCodeOf } from '@picket/lib/errors.ts';
import { Segment, type SpoolKind } from './segment.ts';
import { readSegmentHeader, recordHeaderBytes, recordRanges, segmentHeaderBytes } from './segment-format.ts';

const maxSegmentBytes = 4 * 1024 * 1024;
const minSegmentBytes = 64 * 1024;
/** A segment of this size whose records are all settled is removed instead of reused. */
const recycleBytes = 64 * 1024;
const maxQuarantineBytes = 16 * 1024 * 1024;
const maxQuarantineFiles = 100;
const recordsPerSegment = 2 ** 20;
const segmentName = /^(attempt|final)-(\d{12})\.seg$/;

/** One result to be written to disk. */
export interface SpoolEntry {
  readonly kind: SpoolKind;
  /** Epoch milliseconds by the service's clock. */
  readonly atMs: number;
  readonly body: Buffer;
}

/** A record taken out to be sent. `ref` identifies it until it is settled. */
export interface TakenRecord {
  readonly ref: number;
  readonly body: Buffer;
}

/** Losses and damage since the start, in results unless stated otherwise. */
export interface SpoolLosses {
  /** Dropped to make room. */
  attempts: number;
  finals: number;
  /** Dropped because they were too old. */
  expired: number;
  /** Ranges of files, or whole files, that were unreadable and are in quarantine. */
  damagedParts: number;
  /** Incomplete writes at the end of files: these results were never reported as durable. */
  tornTails: number;
}

/**
 * Results on disk, in the files of one folder that no other process writes. Every call is synchronous and may block on
 * the disk, so the store runs in a thread of its own.
 *
 * Each kind of record has its own segments, numbered in the order of creation. Above `maxBytes` the oldest segment of
 * attempts is dropped, or without one the oldest of finals. Unreadable data is copied to `quarantine/` and counted; the
 * records around it are kept.
 */
export class SpoolStore {
  readonly losses: SpoolLosses = { attempts: 0, finals: 0, expired: 0, damagedParts: 0, tornTails: 0 };
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #segmentBytes: number;
  /** In order of number. */
  readonly #segments = new Map<number, Segment>();
  readonly #active: Partial<Record<SpoolKind, Segment>> = {};
  #nextNumber = 1;

  constructor(options: { readonly folder: string; readonly maxBytes: number }) {
    this.#folder = options.folder;
    this.#maxBytes = options.maxBytes;
    this.#segmentBytes = Math.max(minSegmentBytes, Math.min(maxSegmentBytes, options.maxBytes / 16));
  }

  /** Unsettled records: all of them, and those that are not being sent. */
  get counts(): { readonly open: number; readonly pending: number } {
    let open = 0;
    let pending = 0;
    for (const segment of this.#segments.values()) {
      open += segment.openCount;
      pending += segment.pendingCount;
    }
    return { open, pending };
  }

  get sizeBytes(): number {
    let sizeBytes = 0;
    for (const segment of this.#segments.values()) sizeBytes += segment.sizeBytes;
    return sizeBytes;
  }

  /** When the oldest unsettled record was spooled. */
  get oldestAtMs(): number | undefined {
    let oldestAtMs: number | undefined;
    for (const segment of this.#segments.values()) {
      const atMs = segment.oldestAtMs;
      if (atMs !== undefined) oldestAtMs = Math.min(atMs, oldestAtMs ?? atMs);
    }
    return oldestAtMs;
  }

  /** Loads the contents of the folder. `onBody` is called for every pending record. */
  load(onBody: (body: Buffer) => void = () => undefined): void {
    for (const name of segmentNames(this.#folder)) this.#load(name, onBody);
  }

  /** Moves the segments of another folder here, after the existing ones. */
  adopt(folder: string, onBody: (body: Buffer) => void = () => undefined): void {
    for (const name of segmentNames(folder)) {
      const kind = segmentName.exec(name)?.[1] as SpoolKind;
      const moved = nameOf(kind, this.#nextNumber);
      renameSync(join(folder, name), join(this.#folder, moved));
      this.#load(moved, onBody);
    }
    rmSync(join(folder, 'quarantine'), { recursive: true, force: true });
  }

  /**
   * Writes results to disk; they are durable when it returns. They are held until `release` makes them pending.
   *
   * @throws the error of the file system; of the failed kind, no result was appended.
   */
  append(entries: readonly SpoolEntry[]): number[] {
    const refs = new Array<number>(entries.length);
    for (const kind of ['final', 'attempt'] as const) {
      const places = entries.flatMap((entry, place) => (entry.kind === kind ? [place] : []));
      if (places.length === 0) continue;
      const records = places.flatMap((place) => entries[place] ?? []);
      this.#makeRoom(records.reduce((sum, { body }) => sum + body.length, 0));
      const segment = this.#segmentFor(kind);
      const first = segment.append(records);
      places.forEach((place, index) => {
        refs[place] = refOf(segment, first + index);
      });
      if (segment.sizeBytes >= this.#segmentBytes) this.#seal(segment);
    }
    return refs;
  }

  /** Takes out the oldest pending records, at least one. Records older than `notBeforeMs` are dropped. */
  take(limits: { readonly maxCount: number; readonly maxBytes: number }, notBeforeMs: number): TakenRecord[] {
    this.#expire(notBeforeMs);
    const taken: TakenRecord[] = [];
    let sizeBytes = 0;
    for (const segment of [...this.#segments.values()]) {
      if (segment.pendingCount === 0) continue;
      const indexes: number[] = [];
      let isFull = false;
      for (const index of segment.pending()) {
        const lengthBytes = segment.entry(index)?.lengthBytes ?? 0;
        const count = taken.length + indexes.length;
        isFull = count >= limits.maxCount || (count > 0 && sizeBytes + lengthBytes > limits.maxBytes);
        if (isFull) break;
        indexes.push(index);
        sizeBytes += lengthBytes;
      }
      taken.push(...this.#hold(segment, indexes));
      if (isFull) break;
    }
    return taken;
  }

  /** Makes held records pending again. Returns how many had been dropped meanwhile. */
  release(refs: readonly number[]): number {
    let goneCount = 0;
    for (const ref of refs) {
      const segment = this.#segmentOf(ref);
      if (segment) segment.release(indexOf(ref));
      else goneCount++;
    }
    return goneCount;
  }

  /** Settles records: they are not sent again. */
  settle(refs: readonly number[]): void {
    const bySegment = new Map<Segment, number[]>();
    for (const ref of refs) {
      const segment = this.#segmentOf(ref);
      if (!segment) continue;
      const indexes = bySegment.get(segment) ?? [];
      bySegment.set(segment, indexes);
      indexes.push(indexOf(ref));
    }
    for (const [segment, indexes] of bySegment) {
      segment.settle(indexes);
      if (segment.openCount > 0) continue;
      if (!segment.isActive || segment.sizeBytes >= recycleBytes) this.#remove(segment);
    }
  }

  /** Closes all files and removes those without open records. */
  close(): void {
    for (const segment of [...this.#segments.values()]) {
      segment.seal();
      if (segment.openCount === 0) this.#remove(segment);
    }
  }

  #load(name: string, onBody: (body: Buffer) => void): void {
    const [, kind, number] = segmentName.exec(name) ?? [];
    const path = join(this.#folder, name);
    this.#nextNumber = Math.max(this.#nextNumber, Number(number) + 1);
    const bytes = readFileSync(path);
    const header = readSegmentHeader(bytes);
    if (header === 'newer' || bytes.length < segmentHeaderBytes) {
      this.#setAside(path, bytes);
      return;
    }
    const segment = Segment.sealed(Number(number), kind as SpoolKind, { path, sizeBytes: bytes.length });
    // Records after a damaged header may be intact.
    for (const stretch of recordRanges(bytes, header === 'ours' ? segmentHeaderBytes : 0)) {
      if ('body' in stretch) {
        if (stretch.header.isSettled) continue;
        segment.found({
          at: stretch.at,
          lengthBytes: stretch.body.length + recordHeaderBytes,
          atMs: stretch.header.atMs,
          mark: stretch.header.mark,
        });
        onBody(stretch.body);
      } else {
        if (stretch.isTail && header === 'ours') this.losses.tornTails++;
        else this.losses.damagedParts++;
        this.#quarantine(`${name}.${stretch.at}`, bytes.subarray(stretch.at, stretch.endAt));
      }
    }
    if (segment.openCount === 0) segment.remove();
    else this.#segments.set(segment.number, segment);
  }

  /** Sets aside a file of a later version, which this version cannot read, or one that was never completed. */
  #setAside(path: string, bytes: Buffer): void {
    if (bytes.length < segmentHeaderBytes) this.losses.tornTails++;
    else this.losses.damagedParts++;
    if (bytes.length > 0) this.#quarantine(basename(path), bytes);
    rmSync(path, { force: true });
  }

  #hold(segment: Segment, indexes: readonly number[]): TakenRecord[] {
    if (indexes.length === 0) return [];
    const bodies = segment.read(indexes);
    const damaged = indexes.filter((_, place) => !bodies[place]);
    for (const index of damaged) {
      this.losses.damagedParts++;
      this.#quarantine(`${basename(segment.path)}.${segment.entry(index)?.at}`, segment.raw(index));
    }
    for (const index of indexes) segment.hold(index);
    this.settle(damaged.map((index) => refOf(segment, index)));
    return indexes.flatMap((index, place) => {
      const body = bodies[place];
      return body ? [{ ref: refOf(segment, index), body }] : [];
    });
  }

  #expire(notBeforeMs: number): void {
    for (const segment of [...this.#segments.values()]) {
      if ((segment.oldestAtMs ?? Number.POSITIVE_INFINITY) >= notBeforeMs) continue;
      const old = [...segment.pending()].filter((index) => (segment.entry(index)?.atMs ?? 0) < notBeforeMs);
      this.losses.expired += old.length;
      this.settle(old.map((index) => refOf(segment, index)));
    }
  }

  #makeRoom(neededBytes: number): void {
    if (neededBytes > this.#maxBytes)
      throw new Error('a result is larger than the maximum size of the spool');
    while (this.sizeBytes + neededBytes > this.#maxBytes) {
      const all = [...this.#segments.values()];
      const victim = all.find(({ kind }) => kind === 'attempt') ?? all[0];
      if (!victim) return;
      if (victim.kind === 'attempt') this.losses.attempts += victim.pendingCount;
      else this.losses.finals += victim.pendingCount;
      this.#remove(victim);
    }
  }

  #segmentFor(kind: SpoolKind): Segment {
    const active = this.#active[kind];
    if (active?.isActive) return active;
    const number = this.#nextNumber++;
    const path = join(this.#folder, nameOf(kind, number));
    const segment = Segment.create(number, kind, { path, folder: this.#folder });
    this.#segments.set(number, segment);
    this.#active[kind] = segment;
    return segment;
  }

  #segmentOf(ref: number): Segment | undefined {
    return this.#segments.get(Math.floor(ref / recordsPerSegment));
  }

  #seal(segment: Segment): void {
    segment.seal();
    if (segment.openCount === 0) this.#remove(segment);
  }

  #remove(segment: Segment): void {
    this.#segments.delete(segment.number);
    segment.remove();
  }

  #quarantine(name: string, bytes: Buffer): void {
    const folder = join(this.#folder, 'quarantine');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (bytes.length > maxQuarantineBytes) return;
      writeFileSync(join(folder, name), bytes, { mode: 0o600 });
      trim(folder);
    } catch (thrown) {
      // The copy is only for examination, and a full or read-only disk has no room for it.
      if (errorCodeOf(thrown) === undefined) throw thrown;
    }
  }
}

/** Keeps the newest files of the quarantine, up to its limits. */
function trim(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), found: statSync(join(folder, name)) }))
    .sort((one, other) => other.found.mtimeMs - one.found.mtimeMs);
  let sizeBytes = 0;
  files.forEach(({ path, found }, place) => {
    sizeBytes += found.size;
    if (place >= maxQuarantineFiles || sizeBytes > maxQuarantineBytes) rmSync(path, { force: true });
  });
}

function segmentNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const numberOf = (name: string) => Number(segmentName.exec(name)?.[2]);
  return readdirSync(folder)
    .filter((name) => segmentName.test(name))
    .sort((one, other) => numberOf(one) - numberOf(other));
}

function nameOf(kind: SpoolKind, number: number): string {
  return `${kind}-${String(number).padStart(12, '0')}.seg`;
}

function refOf(segment: Segment, index: number): number {
  return segment.number * recordsPerSegment + index;
}

function indexOf(ref: number): number {
  return ref % recordsPerSegment;
}

import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SpoolKind } from './segment.ts';
import { recordHeaderBytes, segmentHeaderBytes } from './segment-format.ts';
import { SpoolStore } from './spool-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'picket-spool-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const everything = { maxCount: 1e6, maxBytes: 1e9 };
const open = (maxBytes = 2 ** 30) => {
  const store = new SpoolStore({ folder, maxBytes });
  store.load();
  return store;
};
const entry = (text: string, kind: SpoolKind = 'final', atMs = 1000) => ({
  kind,
  atMs,
  body: Buffer.from(text),
});
const textsOf = (store: SpoolStore, notBeforeMs = 0) =>
  store.take(everything, notBeforeMs).map(({ body }) => body.toString());
const segments = () => readdirSync(folder).filter((name) => name.endsWith('.seg'));
const texts = (count: number) => Array.from({ length: count }, (_, index) => `result ${index} `.repeat(20));

describe('keeping', () => {
  it('returns what was appended, oldest first, after the process ended', () => {
    const store = open();
    store.append([entry('a'), entry('b', 'attempt')]);
    store.append([entry('c'), entry('')]);
    // Nothing is closed, as when a process is killed.
    expect(textsOf(open())).toEqual(['a', 'c', '', 'b']);
  });

  it('does not return entries that are being sent until they are released', () => {
    const store = open();
    const refs = store.append([entry('a'), entry('b')]);
    expect(textsOf(store)).toEqual([]);
    expect(store.release(refs.slice(1))).toBe(0);
    expect(textsOf(store)).toEqual(['b']);
    expect(textsOf(store)).toEqual([]);
    expect(store.counts).toEqual({ open: 2, pending: 0 });
  });

  it('respects limits, but returns at least one', () => {
    const store = open();
    store.release(store.append(texts(5).map((text) => entry(text))));
    expect(store.take({ maxCount: 2, maxBytes: 1e6 }, 0)).toHaveLength(2);
    expect(store.take({ maxCount: 9, maxBytes: 1 }, 0)).toHaveLength(1);
    expect(store.take({ maxCount: 9, maxBytes: 1e6 }, 0)).toHaveLength(2);
  });

  it('remembers settled entries, even when it is killed right after', () => {
    const store = open();
    const refs = store.append([entry('a'), entry('b'), entry('c')]);
    store.settle([refs[1] ?? 0]);
    const second = open();
    const taken = second.take(everything, 0);
    expect(taken.map(({ body }) => body.toString())).toEqual(['a', 'c']);
    second.settle(taken.map(({ ref }) => ref));
    // An empty segment is deleted; the segment of the first store is a different one.
    expect(textsOf(open())).toEqual([]);
  });

  it('leaves no files when everything is settled', () => {
    const store = open();
    const refs = store.append([entry('a'), entry('b', 'attempt')]);
    store.settle(refs);
    store.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not grow while everything is sent at once', () => {
    const store = open();
    for (let round = 0; round < 2000; round++) store.settle(store.append([entry('x'.repeat(5000))]));
    expect(store.sizeBytes).toBeLessThan(100_000);
    expect(segments()).toHaveLength(1);
  });

  it('is for its user alone', () => {
    open().append([entry('a')]);
    for (const name of segments()) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  });
});

describe('bounds', () => {
  const large = 'x'.repeat(30_000);
  it('drops attempts before finals, the oldest first, and counts', () => {
    const store = open(1_000_000);
    const fill = (kind: SpoolKind, count: number) => {
      for (let index = 0; index < count; index++) {
        store.release(store.append([entry(`${kind} ${index} ${large}`, kind)]));
      }
    };
    fill('final', 10);
    fill('attempt', 10);
    fill('final', 20);
    expect(store.losses).toMatchObject({ finals: 0 });
    expect(store.losses.attempts).toBeGreaterThan(0);
    fill('final', 20);
    expect(store.sizeBytes).toBeLessThanOrEqual(1_000_000);
    expect(store.losses.attempts).toBe(10);
    expect(store.losses.finals).toBeGreaterThan(10);
    const left = textsOf(store).map((text) => text.split(' ').slice(0, 2).join(' '));
    expect(left).toHaveLength(60 - 10 - store.losses.finals);
    expect(left.at(-1)).toBe('final 19');
    expect(left).not.toContain('attempt 9');
  });

  it('reports when entries were dropped while they were being sent', () => {
    const store = open(200_000);
    const refs = store.append([entry(large)]);
    for (let index = 0; index < 10; index++) store.append([entry(large)]);
    expect(store.release(refs)).toBe(1);
    expect(store.losses.finals).toBe(0);
  });

  it('drops what is too old', () => {
    const store = open();
    store.release(store.append([entry('old', 'final', 1000), entry('new', 'final', 5000)]));
    expect(textsOf(store, 3000)).toEqual(['new']);
    expect(store.losses.expired).toBe(1);
    expect(store.oldestAtMs).toBe(5000);
  });
});

describe('damage', () => {
  const pathOf = () => join(folder, segments()[0] ?? '');

  it('that truncates a file anywhere: everything before the cut is kept', () => {
    open().append(texts(3).map((text) => entry(text)));
    const whole = readFileSync(pathOf());
    const name = pathOf();
    const lengths = texts(3).map((text) => text.length + recordHeaderBytes);
    for (let cutAt = 0; cutAt < whole.length; cutAt += 7) {
      writeFileSync(name, whole.subarray(0, cutAt));
      let kept = 0;
      for (let end = segmentHeaderBytes + (lengths[0] ?? 0); end <= cutAt; end += lengths[kept] ?? 1e9)
        kept++;
      const store = open();
      expect(textsOf(store), `cut at ${cutAt}`).toEqual(texts(3).slice(0, kept));
      expect(store.losses.damagedParts).toBe(0);
      store.close();
      rmSync(name, { force: true });
    }
  });

  it('of a byte anywhere costs one result at most', () => {
    open().append(texts(4).map((text) => entry(text)));
    const whole = readFileSync(pathOf());
    const name = pathOf();
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 0x41, at);
      writeFileSync(name, bytes);
      const store = open();
      const left = textsOf(store);
      expect(left.length, `byte ${at}`).toBeGreaterThanOrEqual(at < segmentHeaderBytes ? 4 : 3);
      expect(texts(4)).toEqual(expect.arrayContaining(left));
      if (left.length === 3) expect(store.losses.damagedParts + store.losses.tornTails).toBe(1);
    }
    expect(readdirSync(join(folder, 'quarantine')).length).toBeGreaterThan(0);
  });

  it('that is found only on reading costs one result', () => {
    const store = open();
    const refs = store.append(texts(3).map((text) => entry(text)));
    const bytes = readFileSync(pathOf());
    bytes.writeUInt8(0xff, segmentHeaderBytes + recordHeaderBytes + 5);
    writeFileSync(pathOf(), bytes);
    store.release(refs);
    expect(textsOf(store)).toEqual(texts(3).slice(1));
    expect(store.losses.damagedParts).toBe(1);
  });

  it('of files that are empty, of a later version, or foreign is set aside', () => {
    open().append([entry('good')]);
    writeFileSync(join(folder, 'final-000000000002.seg'), '');
    writeFileSync(join(folder, 'final-000000000003.seg'), 'something else entirely');
    const newer = Buffer.alloc(100);
    newer.write('PICKETSP');
    newer.writeUInt32LE(2, 8);
    newer.writeUInt32LE(crc32(newer.subarray(0, 12)), 12);
    writeFileSync(join(folder, 'attempt-000000000004.seg'), newer);
    const store = open();
    expect(textsOf(store)).toEqual(['good']);
    expect(store.losses).toMatchObject({ tornTails: 1, damagedParts: expect.any(Number) });
    expect(readdirSync(join(folder, 'quarantine')).sort()).toEqual([
      'attempt-000000000004.seg',
      'final-000000000003.seg.0',
    ]);
    expect(segments()).toEqual(['final-000000000001.seg']);
  });

  it('of swapped files changes their order only', () => {
    const store = open(1_000_000);
    const all = texts(600);
    for (const text of all) store.append([entry(text)]);
    const [first = '', second = ''] = segments();
    const bytes = readFileSync(join(folder, first));
    writeFileSync(join(folder, first), readFileSync(join(folder, second)));
    writeFileSync(join(folder, second), bytes);
    expect(textsOf(open()).sort()).toEqual(all.sort());
  });

  it('of the mark of a settled result sends it twice, and never loses another one', () => {
    const store = open();
    const [ref = 0] = store.append([entry('a'), entry('b')]);
    store.settle([ref]);
    const bytes = readFileSync(pathOf());
    bytes.writeUInt8(bytes.readUInt8(segmentHeaderBytes + 24) ^ 1, segmentHeaderBytes + 24);
    writeFileSync(pathOf(), bytes);
    expect(textsOf(open())).toEqual(['a', 'b']);
  });

  it('by a failing disk keeps existing entries, and later ones get a new file', () => {
    const store = open();
    store.append([entry('a')]);
    truncateSync(pathOf(), segmentHeaderBytes + 3);
    store.append([entry('b')]);
    // The hole before it is not a record; the part behind it is one.
    expect(textsOf(open())).toEqual(['b']);
  });
});

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArtifactStore } from '../../../src/platform/artifact-store/artifact-store.ts';
import { DirectoryStore } from '../../../src/platform/artifact-store/directory-store.ts';
import { ContentMismatch } from '../../../src/platform/artifact-store/verified-content.ts';
import { openBucket } from '../../helpers/service/bucket.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

const expectedOf = (bytes: Buffer) => ({
  sizeBytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const read = async (store: ArtifactStore, key: string, range?: { first: number; last: number }) => {
  const content = await store.open(key, range);
  return content && (await buffer(content));
};

const folders: { remove(): void }[] = [];
afterAll(() => {
  for (const folder of folders) folder.remove();
});
const newFolder = () => {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
};

/** Guarantees of every artifact store. */
describe.each([
  { name: 'directory', open: () => DirectoryStore.open(newFolder()) },
  { name: 's3', open: () => openBucket(newFolder()) },
])('an artifact store: $name', ({ open }) => {
  let store: ArtifactStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  it.each([0, 1, 65_536, 20_000_001])('returns %i bytes unchanged', async (sizeBytes) => {
    const bytes = randomBytes(sizeBytes);
    await store.put(`check/size/${sizeBytes}`, Readable.from([bytes]), expectedOf(bytes));
    expect((await read(store, `check/size/${sizeBytes}`))?.equals(bytes)).toBe(true);
  });

  it('returns a range', async () => {
    const bytes = randomBytes(200_000);
    await store.put('check/range/0', Readable.from([bytes]), expectedOf(bytes));
    const part = await read(store, 'check/range/0', { first: 99_999, last: 150_000 });
    expect(part?.equals(bytes.subarray(99_999, 150_001))).toBe(true);
  });

  it('has nothing under an unused key', async () => {
    expect(await store.open('check/none/0')).toBeUndefined();
    await store.remove('check/none/0');
    await store.removeFolder('nobody');
  });

  it.each([
    ['too few', (bytes: Buffer) => bytes.subarray(1)],
    ['too many', (bytes: Buffer) => Buffer.concat([bytes, Buffer.of(0)])],
    ['other', (bytes: Buffer) => Buffer.from(bytes).fill(7, 500, 510)],
  ])('keeps nothing of %s bytes', async (name, change) => {
    const bytes = randomBytes(1000);
    const key = `check/mismatch/${name.replace(' ', '-')}`;
    await expect(store.put(key, Readable.from([change(bytes)]), expectedOf(bytes))).rejects.toThrow(
      ContentMismatch,
    );
    expect(await store.open(key)).toBeUndefined();
  });

  it('keeps nothing of a stream that breaks', async () => {
    const bytes = randomBytes(10_000_000);
    const content = new PassThrough();
    const putting = store.put('check/broken/0', content, expectedOf(bytes));
    content.write(bytes.subarray(0, 9_000_000), () => content.destroy(new Error('made to break')));
    await expect(putting).rejects.toThrow('made to break');
    expect(await store.open('check/broken/0')).toBeUndefined();
  });

  it('accepts the same object again and twice at once', async () => {
    const bytes = randomBytes(300_000);
    const put = () => store.put('check/again/0', Readable.from([bytes]), expectedOf(bytes));
    await Promise.all([put(), put()]);
    await put();
    expect((await read(store, 'check/again/0'))?.equals(bytes)).toBe(true);
  });

  it('replaces an object atomically', async () => {
    const [before, after] = [randomBytes(300_000), randomBytes(1_000)];
    await store.put('page/0', Readable.from([before]), expectedOf(before));
    await store.put('page/0', Readable.from([after]), expectedOf(after));
    expect((await read(store, 'page/0'))?.equals(after)).toBe(true);
    const wrong = store.put('page/0', Readable.from([before]), expectedOf(after));
    await expect(wrong).rejects.toThrow();
    expect((await read(store, 'page/0'))?.equals(after)).toBe(true);
  });

  it('removes one object, and all of a folder', async () => {
    const bytes = randomBytes(10);
    for (const key of ['gone/a/0', 'gone/a/1', 'gone/b/0', 'goner/a/0']) {
      await store.put(key, Readable.from([bytes]), expectedOf(bytes));
    }
    await store.remove('gone/a/0');
    expect(await store.open('gone/a/0')).toBeUndefined();
    expect(await read(store, 'gone/a/1')).toBeDefined();
    await store.removeFolder('gone');
    expect(await store.open('gone/a/1')).toBeUndefined();
    expect(await store.open('gone/b/0')).toBeUndefined();
    expect(await read(store, 'goner/a/0')).toBeDefined();
  });
});

describe('artifacts in a directory', () => {
  it('leaves no file of a failed write, and removes the remains of a dead process', async () => {
    const folder = newFolder();
    const incoming = join(folder, 'incoming');
    mkdirSync(incoming, { recursive: true });
    const dayAgo = Date.now() / 1000 - 86_400;
    writeFileSync(join(incoming, 'old'), 'x');
    utimesSync(join(incoming, 'old'), dayAgo, dayAgo);
    writeFileSync(join(incoming, 'of-another-process'), 'x');
    const store = await DirectoryStore.open(folder);
    expect(readdirSync(incoming)).toEqual(['of-another-process']);
    const bytes = randomBytes(10);
    const putting = store.put('check/a/0', Readable.from([bytes]), { ...expectedOf(bytes), sizeBytes: 11 });
    await expect(putting).rejects.toThrow(ContentMismatch);
    expect(readdirSync(incoming)).toEqual(['of-another-process']);
  });

  it('refuses invalid keys', async () => {
    const store = await DirectoryStore.open(newFolder());
    await expect(store.open('../incoming/x')).rejects.toThrow('not a key');
    await expect(store.removeFolder('')).rejects.toThrow('not a key');
  });

  it('reports a full disk, keeps nothing, and continues when there is room', async (context) => {
    const folder = newFolder();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      context.skip('no file system can be mounted here');
    }
    try {
      const store = await DirectoryStore.open(folder);
      const large = randomBytes(6_000_000);
      await expect(store.put('check/a/0', Readable.from([large]), expectedOf(large))).rejects.toMatchObject({
        code: 'ARTIFACT_STORE_FULL',
      });
      expect(readdirSync(join(folder, 'incoming'))).toEqual([]);
      const small = randomBytes(3_000_000);
      await store.put('check/a/1', Readable.from([small]), expectedOf(small));
      expect((await read(store, 'check/a/1'))?.equals(small)).toBe(true);
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});

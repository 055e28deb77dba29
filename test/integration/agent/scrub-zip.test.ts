import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { FileScrubber } from '../../../src/agent/delivery/artifacts/artifact-scrubber.ts';
import { scrubZip } from '../../../src/agent/scrub/files/scrub-zip.ts';
import { Unscrubbable } from '../../../src/agent/scrub/scrub-report.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { type CraftedMember, craftedZip, extraField } from '../../helpers/agent/crafted-zip.ts';
import { sampleOf } from '../../helpers/night.ts';

const secret = 'tok_9fQ2x7LmZpR4sVb8';
const options = { finder: new SecretFinder([secret]), mask: '*****' };
const largeBytes = 17 * 1024 * 1024;
const large = Buffer.alloc(largeBytes, `${'x'.repeat(1000)} ${secret}\n`);
let folder: string;
let source: string;
let target: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-scrub-zip-'));
  source = join(folder, 'source.zip');
  target = join(folder, 'target.zip');
});
afterAll(async () => await rm(folder, { recursive: true }));

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', onUnhandled));
/** In every case, no file stays open and no rejection is unhandled. */
afterEach(async () => {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled.splice(0)).toEqual([]);
  expect(await openFiles()).toEqual([]);
});

async function openFiles(): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const paths = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return paths.filter((path) => path.startsWith(folder) || path === '/dev/full');
}

interface ReadMember {
  readonly name: string;
  readonly content: Buffer;
  readonly packed: Buffer;
}

/** The members of an archive, checked against its directory. */
async function readZip(bytes: Buffer): Promise<ReadMember[]> {
  const archive = await fromBufferPromise(bytes, { lazyEntries: true });
  const members: ReadMember[] = [];
  for await (const entry of archive.eachEntry()) {
    const content = await buffer(await archive.openReadStreamPromise(entry));
    const packed = await buffer(await archive.openReadStreamPromise(entry, { decodeFileData: false }));
    expect(crc32(content)).toBe(entry.crc32);
    const { fileName, fileNameLength } = await archive
      .readLocalFileHeaderPromise(entry)
      .then((header) => ({ ...header, fileName: header.fileName.toString() }));
    expect([fileName, fileNameLength]).toEqual([entry.fileName, Buffer.byteLength(entry.fileName)]);
    members.push({ name: entry.fileName, content, packed });
  }
  return members;
}

async function scrubbed(zip: Buffer, signal?: AbortSignal) {
  await writeFile(source, zip);
  const report = await scrubZip(source, target, { ...options, signal });
  const bytes = await readFile(target);
  return { report, bytes, members: await readZip(bytes) };
}

const text = (seed: number, repeat = 200) =>
  Buffer.from(`line ${seed} of a text without secrets\n`.repeat(repeat));
/** Many members that compress badly, so that several are in progress at any time. */
const many = (count: number): CraftedMember[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `resources/${index}.txt`,
    content: Buffer.from(`${randomBytes(60_000).toString('base64')}${index % 3 === 0 ? secret : ''}`),
  }));

describe('members', () => {
  it('keep their order, however long each of them takes', async () => {
    const members: CraftedMember[] = Array.from({ length: 60 }, (_, index) => ({
      name: index % 10 === 3 ? `folder-${index}/` : `member-${index}`,
      content:
        index % 10 === 3 ? Buffer.alloc(0) : text(index, index % 7 === 0 ? 40_000 : 1 + ((index * 37) % 50)),
      isStored: index % 4 === 0 || index % 10 === 3,
    }));
    const inner = craftedZip([{ name: 'deep', content: Buffer.from(`a ${secret}`) }]);
    members.splice(20, 0, { name: 'inner.zip', content: inner });
    members.splice(10, 0, { name: 'large.txt', content: large });
    members.splice(30, 0, { name: `named ${secret}`, content: Buffer.from(`b ${secret}`) });
    const { report, members: left } = await scrubbed(craftedZip(members));
    expect(left.map(({ name }) => name)).toEqual(members.map(({ name }) => name.replace(secret, '*****')));
    for (const [index, { name, content }] of members.entries()) {
      if (name === 'inner.zip' || name === 'large.txt') continue;
      expect(left[index]?.content.toString()).toBe(content.toString().replace(secret, '*****'));
    }
    expect(left[10]?.content.equals(large)).toBe(false);
    expect(left[10]?.content.includes(secret)).toBe(false);
    expect((await readZip(left[21]?.content ?? Buffer.alloc(0)))[0]?.content.toString()).toBe('a *****');
    expect(report).toMatchObject({ memberCount: 64, withheldCount: 0 });
  });

  it('keep distinct names if they differed only by a secret', async () => {
    const names = [`a/${secret}.txt`, 'a/*****.txt', `a/${secret}.txt`, `${secret}/`, '*****/'];
    const { members } = await scrubbed(
      craftedZip(
        names.map((name, index) => ({
          name,
          content: name.endsWith('/') ? Buffer.alloc(0) : text(index, 3),
        })),
      ),
    );
    expect(members.map(({ name }) => name)).toEqual([
      'a/*****.txt',
      'a/***** (2).txt',
      'a/***** (3).txt',
      '*****/',
      '***** (2)/',
    ]);
    expect(members[2]?.content).toEqual(text(2, 3));
  });

  it('without a secret are kept compressed, byte for byte', async () => {
    const clean = { name: 'clean', content: text(1), packed: deflateRawSync(text(1), { level: 9 }) };
    const dirty = { name: 'dirty', content: Buffer.concat([text(1), Buffer.from(secret)]) };
    const { members } = await scrubbed(
      craftedZip([clean, dirty, { name: 'stored', content: text(2), isStored: true }]),
    );
    expect(members[0]?.packed).toEqual(clean.packed);
    expect(members[1]?.content).toEqual(Buffer.concat([text(1), Buffer.from('*****')]));
    expect(members[2]?.packed).toEqual(text(2));
  });

  it('drop any data between them', async () => {
    const hidden = Buffer.from(` hidden ${secret} `);
    const member: CraftedMember = { name: 'a.txt', content: text(1) };
    const { bytes, members } = await scrubbed(
      craftedZip(
        [
          { ...member, packed: Buffer.concat([deflateRawSync(text(1)), hidden]) },
          { ...member, name: 'b.txt', extra: extraField(secret) },
          { ...member, name: 'c.txt', localExtra: extraField(secret) },
          { ...member, name: 'd.txt', comment: secret },
          { ...member, name: 'e.txt', localName: secret },
          { ...member, name: 'f.txt', gap: hidden },
          { ...member, name: 'g/', content: Buffer.from(secret), isStored: true },
          { ...member, name: 'h.gz', content: namedGzip('inside', secret) },
        ],
        `comment ${secret}`,
      ),
    );
    expect(bytes.includes(secret)).toBe(false);
    expect(members.map(({ name }) => name[0]).join('')).toBe('abcdefgh');
    for (const { content } of members.slice(0, 6)) expect(content).toEqual(text(1));
    expect(members[7]?.content.includes(secret)).toBe(false);
  });

  it('are withheld if they are large and doubly compressed', async () => {
    const content = gzipSync(randomBytes(largeBytes), { level: 0 });
    const { report, members } = await scrubbed(
      craftedZip([
        { name: 'before', content: text(1) },
        { name: 'large.gz', content },
        { name: 'stored.gz', content, isStored: true },
        { name: 'after', content: text(2) },
      ]),
    );
    expect(members.map(({ name }) => name)).toEqual(['before', 'after']);
    const reason = 'a compressed member is too large';
    expect(report).toEqual({
      replacedCount: 0,
      memberCount: 4,
      withheldCount: 2,
      withheld: ['large.gz', 'stored.gz'].map((name) => ({ name, reason })),
    });
  });

  it('are listed when withheld, as far as there is room', async () => {
    const pdf = Buffer.from('%PDF-1.7');
    const report = async (names: readonly string[]) => {
      await writeFile(source, craftedZip(names.map((name) => ({ name, content: pdf }))));
      const scrubber = new FileScrubber(() => options.finder);
      return await scrubber.scrub(source, target, AbortSignal.timeout(60_000));
    };
    const reason = 'pdf files cannot be searched for secrets';
    expect(await report([`a-${secret}.pdf`])).toMatchObject({
      isSendable: true,
      leftOut: `1 file within it is left out: a-*********.pdf (${reason})`,
    });
    const many = await report(
      Array.from({ length: 60 }, (_, index) => `folder/${index}-${'x'.repeat(80)}.pdf`),
    );
    const { leftOut } = many as { readonly leftOut: string };
    expect(leftOut.length).toBeLessThanOrEqual(500);
    expect(leftOut).toMatch(/^60 files within it are left out: folder\/0-x{80}\.pdf \(.* and 5\d more$/);
  });

  it('are withheld if they are archives that are damaged or nested too deeply', async () => {
    const nest = (depth: number): Buffer =>
      craftedZip([{ name: 'x', content: depth === 0 ? Buffer.from(secret) : nest(depth - 1) }]);
    const bad = { name: 'bad', content: text(1), packed: randomBytes(300) };
    const { report, bytes, members } = await scrubbed(
      craftedZip([
        { name: 'damaged.zip', content: craftedZip([...many(12), bad, ...many(12)]) },
        { name: 'cut.zip', content: nest(1).subarray(0, 60) },
        { name: 'deep.zip', content: nest(4) },
        { name: 'after', content: text(2) },
      ]),
    );
    // The third nesting level is the deepest that is inspected.
    expect(members.map(({ name }) => name)).toEqual(['deep.zip', 'after']);
    expect(bytes.includes(secret)).toBe(false);
    expect(report).toMatchObject({ replacedCount: 0, withheldCount: 3 });
    expect(report.withheld.map(({ name }) => name)).toEqual(['damaged.zip', 'cut.zip', 'deep.zip/x/x']);
  });
});

/** A gzip file with a name in its header. */
function namedGzip(content: string, name: string): Buffer {
  const file = gzipSync(content);
  file[3] = 8;
  return Buffer.concat([file.subarray(0, 10), Buffer.from(`${name}\0`), file.subarray(10)]);
}

describe('a whole archive is refused', () => {
  const fine = () => many(12);
  const content = text(1);
  const packed = deflateRawSync(content);
  const faults: readonly (readonly [string, Partial<CraftedMember>])[] = [
    ['holds bytes that are not packed', { packed: Buffer.from(randomBytes(300).fill(0xff, 0, 1)) }],
    ['ends too early', { packed: packed.subarray(0, packed.length - 20) }],
    ['is longer than it says', { saidBytes: content.length - 1 }],
    ['is shorter than it says', { saidBytes: content.length + 1 }],
    ['says that it is empty', { saidBytes: 0 }],
    ['is a bomb that says it is small', { packed: deflateRawSync(Buffer.alloc(200_000_000)) }],
    ['is encrypted', { flags: 1 }],
    ['is packed in another way', { method: 12 }],
    ['is large and damaged', { content: Buffer.alloc(largeBytes), packed: Buffer.alloc(5000, 0xff) }],
    ['is large and shorter than it says', { content: Buffer.alloc(largeBytes), saidBytes: largeBytes + 1 }],
    ['is large and longer than it says', { content: Buffer.alloc(largeBytes + 100), saidBytes: largeBytes }],
  ];
  it.each(faults)('if one of its members %s', async (_what, fault) => {
    const bad = { name: 'bad', content, ...fault };
    await expect(scrubbed(craftedZip([...fine(), bad, ...fine()]))).rejects.toThrow(Unscrubbable);
  });

  it('if its directory is truncated, or points outside', async () => {
    const zip = craftedZip(fine());
    await expect(scrubbed(zip.subarray(0, zip.length - 10))).rejects.toThrow(Unscrubbable);
    await expect(scrubbed(zip.subarray(50_000))).rejects.toThrow(Unscrubbable);
    const lost = Buffer.from(zip);
    lost.writeUInt32LE(0x7fffffff, lost.lastIndexOf('PK\u0001\u0002') + 42);
    await expect(scrubbed(lost)).rejects.toThrow(Unscrubbable);
  });

  it('if it unpacks to more than any run produces', async () => {
    const huge = { name: 'huge', content, saidBytes: 1_900_000_000 };
    await expect(scrubbed(craftedZip([...fine(), huge, huge]))).rejects.toThrow(
      'too large once it is unpacked',
    );
    const inner = { name: 'inner.zip', content: craftedZip([huge, huge]) };
    const { report } = await scrubbed(craftedZip([inner, ...fine()]));
    expect(report).toMatchObject({ memberCount: 13, withheldCount: 1 });
    // Sizes that nested archives declare count, too.
    await expect(scrubbed(craftedZip([inner, ...fine(), huge]))).rejects.toThrow(
      'too large once it is unpacked',
    );
  });
});

describe('an abandoned archive', () => {
  const large = (): CraftedMember => ({
    name: 'large',
    content: Buffer.from(randomBytes(13_000_000).toString('base64')),
  });
  /** The share of the whole that was written, and turns of the event loop after that. */
  const moments = [
    [0, 0],
    [0, 100],
    [0.2, 0],
    [0.2, 500],
    [0.5, 0],
  ] as const;
  const inner = (): CraftedMember => ({ name: 'inner.zip', content: craftedZip(many(50)), isStored: true });
  it.each([
    ['several members', () => many(60)],
    ['a large member', () => [large(), ...many(5)]],
    ['an archive within', () => [...many(20), inner(), ...many(10)]],
  ] satisfies [string, () => CraftedMember[]][])(
    'is abandoned while it has %s in progress',
    async (_what, members) => {
      await writeFile(source, craftedZip(members()));
      const sizeBytes = () =>
        stat(target).then(
          ({ size }) => size,
          () => -1,
        );
      await scrubZip(source, target, options);
      const wholeBytes = await sizeBytes();
      for (const [share, turns] of sampleOf(moments, 2)) {
        await rm(target, { force: true });
        const abort = new AbortController();
        const reason = new Error('given up');
        const work = scrubZip(source, target, { ...options, signal: abort.signal }).catch(
          (thrown: unknown) => thrown,
        );
        while ((await sizeBytes()) < share * wholeBytes) await nextTurn();
        for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        abort.abort(reason);
        expect(await work).toBe(reason);
        expect(await openFiles()).toEqual([]);
        expect(await sizeBytes()).toBeLessThan(wholeBytes);
      }
    },
  );

  it('was abandoned before it began', async () => {
    await expect(scrubbed(craftedZip(many(3)), AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
  });
});

describe.runIf(process.platform === 'linux')('a disk that is full', () => {
  it("is our fault, not the archive's", async () => {
    await writeFile(source, craftedZip([...many(20), { name: 'large', content: randomBytes(largeBytes) }]));
    await expect(scrubZip(source, '/dev/full', options)).rejects.toMatchObject({ code: 'ENOSPC' });
  });
});

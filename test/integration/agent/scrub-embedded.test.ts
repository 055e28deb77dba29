import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  brotliCompressSync,
  brotliDecompressSync,
  crc32,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { Unscrubbable } from '../../../src/agent/scrub/scrub-report.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { readablePieces } from '../../helpers/agent/readable-pieces.ts';
import { sampleOf } from '../../helpers/night.ts';

const secret = 'tok_9f8e7d6c5b4a39281706';
const mask = '*********';
const options = { finder: new SecretFinder([secret]), mask };
/** Text that compresses badly, so that the compressed data is long. */
const noise = (length: number) =>
  Array.from({ length: Math.ceil(length / 64) }, (_, part) =>
    createHash('sha256').update(`${part}`).digest('hex').replaceAll(/.{16}/g, '$& '),
  ).join('');
const text = (length = 100) => `${noise(length)} the token is ${secret}. ${noise(length)}`;

async function zipped(members: Readonly<Record<string, Buffer | string>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, bytes] of Object.entries(members)) zip.addBuffer(Buffer.from(bytes), name);
  zip.end();
  return await buffer(zip.outputStream);
}

async function storedMember(name: string, content: string): Promise<Buffer> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(content), name, { compress: false });
  zip.end();
  return await buffer(zip.outputStream);
}

function png(packed: string): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const made = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)]);
    made.writeUInt32BE(data.length);
    made.writeUInt32BE(crc32(made.subarray(4, -4)), made.length - 4);
    return made;
  };
  const note = Buffer.concat([Buffer.from('note\0\0'), deflateSync(packed)]);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', Buffer.alloc(13)),
    chunk('zTXt', note),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * Files that contain the secret compressed, and functions that read them back; files without such a function are
 * withheld entirely.
 */
/** The decoded mask: the file is empty. */
const isLeftOut = (bytes: Buffer) => expect(bytes).toHaveLength(0);
type PackedFile = readonly [
  name: string,
  make: () => Buffer | Promise<Buffer>,
  read: (bytes: Buffer) => unknown,
];
const files: PackedFile[] = [
  ['a zip', () => zipped({ 'a.txt': text() }), (bytes) => fromBufferPromise(bytes, { lazyEntries: true })],
  [
    'a document',
    () => zipped({ 'word/document.xml': `<t>${text()}</t>` }),
    (bytes) => fromBufferPromise(bytes, { lazyEntries: true }),
  ],
  [
    'a large archive',
    () => zipped({ 'a.txt': text(60_000), 'b.gz': gzipSync(text()) }),
    (bytes) => fromBufferPromise(bytes, { lazyEntries: true }),
  ],
  ['gzip of more than 16 KiB', () => gzipSync(text(60_000)), gunzipSync],
  ['Zstandard', () => zstdCompressSync(text()), zstdDecompressSync],
  ['deflate', () => deflateSync(text()), inflateSync],
  ['Brotli', () => brotliCompressSync(text()), brotliDecompressSync],
  ['an image with a packed text', () => png(text()), isLeftOut],
  [
    'a file in Base64 in a file in Base64',
    () => Buffer.from(`{"body":"${deflateSync(text()).toString('base64')}"}`),
    (bytes) => JSON.parse(bytes.toString()),
  ],
];

/** Texts with files in Base64. */
const carriers: readonly (readonly [string, (file: Buffer) => string])[] = [
  [
    'an attachment of a report',
    (file) =>
      JSON.stringify({ attachments: [{ name: 'a', body: file.toString('base64') }], after: 'kept' }, null, 2),
  ],
  ['JSON in JSON', (file) => JSON.stringify({ text: JSON.stringify({ body: file.toString('base64') }) })],
  [
    'a report in HTML',
    (file) => `<script>window.report = "data:application/zip;base64,${file.toString('base64')}";</script>`,
  ],
  [
    'an entry of a HAR file',
    (file) => JSON.stringify({ content: { size: 1, text: file.toString('base64'), encoding: 'base64' } }),
  ],
  ['JSON with escaped slashes', (file) => `{"data":"${file.toString('base64').replaceAll('/', '\\/')}"}`],
  ['JSON with Base64 for URLs', (file) => `{"payload": "${file.toString('base64url')}"}`],
];

describe('files in Base64 within texts', () => {
  let folder: string;
  const path = (name: string) => join(folder, name);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-embedded-'));
  });
  afterAll(async () => await rm(folder, { recursive: true }));

  async function scrubbed(bytes: Buffer | string, name = 'file'): Promise<Buffer> {
    await writeFile(path(name), bytes);
    await scrubFile(path(name), path('out'), options);
    return await readFile(path('out'));
  }

  it.each<PackedFile>(files)('are scrubbed like plain files: %s', async (_name, make, read) => {
    const file = await make();
    const leaks: string[] = [];
    for (const [carrier, carry] of sampleOf(carriers, 3)) {
      const carried = carry(file);
      const archive = await zipped({ 'report.json': carried });
      for (const [sink, left] of [
        ['file', await scrubbed(carried)],
        ['file, behind much', await scrubbed(`${'x '.repeat(40_000)}\n${carried}\n${'y '.repeat(40_000)}`)],
        ['gzip', await scrubbed(gzipSync(carried))],
        ['archive', await scrubbed(archive)],
      ] as const) {
        if (readablePieces(left).some((piece) => piece.includes(secret))) leaks.push(`${carrier} in ${sink}`);
      }
      const left = (await scrubbed(carried)).toString();
      const run = /[A-Za-z0-9+/_\\-]{100,}=*/.exec(left)?.[0].replaceAll('\\', '');
      await read(Buffer.from(run ?? '', 'base64'));
    }
    expect(leaks).toEqual([]);
  });

  it('are unchanged if they contain no secret', async () => {
    const harmless = [
      await zipped({ 'a.txt': noise(500) }),
      gzipSync(noise(50_000)),
      deflateSync(noise(100)),
      png('no'),
      Buffer.from(noise(100)),
    ];
    for (const file of harmless) {
      for (const [, carry] of carriers) expect((await scrubbed(carry(file))).toString()).toBe(carry(file));
    }
  });

  it('are withheld if they cannot be searched', async () => {
    const opaque = ['%PDF-1.7\n', 'BZh91AY&SY', '7z\u00bc\u00af\u0027\u001c', 'Rar!\u001a\u0007'].map(
      (start) => Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(60, 7)]),
    );
    for (const file of opaque) {
      const left = JSON.parse(
        (await scrubbed(JSON.stringify({ body: file.toString('base64'), other: 1 }))).toString(),
      );
      expect(left).toEqual({ body: mask, other: 1 });
      // The same within an archive, although the file alone is refused.
      const members: string[] = [];
      const archive = await fromBufferPromise(await scrubbed(await zipped({ a: file, b: 'kept' })), {
        lazyEntries: true,
      });
      for await (const entry of archive.eachEntry()) members.push(entry.fileName);
      expect(members).toEqual(['b']);
      await expect(scrubbed(file)).rejects.toThrow('cannot be searched for secrets');
    }
  });

  it('are also found compressed in a result', async () => {
    const scrubber = new Scrubber([secret]);
    for (const file of [gzipSync(text(30_000)), await zipped({ a: text() }), png(text())]) {
      const value = file.toString('base64');
      expect(JSON.parse(scrubber.json({ frames: [`got ${value} now`], body: value }))).toEqual({
        frames: [`got ${mask} now`],
        body: mask,
      });
    }
  });

  it('are not searched endlessly', async () => {
    const long = Buffer.concat([Buffer.from('504b03041400', 'hex'), Buffer.alloc(20_000_000, 7)]).toString(
      'base64',
    );
    const left = JSON.parse(
      (await scrubbed(JSON.stringify({ before: 1, body: long, after: secret }))).toString(),
    );
    expect(left).toEqual({ before: 1, body: mask, after: mask });
  });
});

describe('compressed data within a file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-hidden-'));
  });
  afterAll(async () => await rm(folder, { recursive: true }));

  it.each([
    [
      'an archive behind a program',
      async () => Buffer.concat([Buffer.alloc(3000, '\x7fELF\0'), await zipped({ a: text() })]),
    ],
    [
      'an archive behind a script',
      async () =>
        Buffer.concat([Buffer.from(`#!/bin/sh\n${'exit 0\n'.repeat(200)}`), await zipped({ a: text() })]),
    ],
    ['gzip behind a header', async () => Buffer.concat([Buffer.from('header\0\x01\0'), gzipSync(text())])],
    [
      'gzip behind a script',
      async () => Buffer.concat([Buffer.from('#!/bin/sh\n'.repeat(100)), gzipSync(text(20_000))]),
    ],
  ])('is found: %s', async (_name, make) => {
    const path = join(folder, 'file');
    const bytes = await make();
    await writeFile(path, bytes);
    await expect(scrubFile(path, `${path}.out`, options)).rejects.toThrow(Unscrubbable);
    const archive = await zipped({ a: bytes, b: 'kept' });
    await writeFile(path, archive);
    expect(await scrubFile(path, `${path}.out`, options)).toMatchObject({ memberCount: 2, withheldCount: 1 });
  });

  describe('of more than 16 MB', () => {
    const filler = Buffer.alloc(17 * 1024 * 1024, 'All lines are ordinary here.\n');
    const largeWith = (piece: Buffer, at: number) =>
      Buffer.concat([filler.subarray(0, at), piece, filler.subarray(at)]);

    it.each([
      ['a text', async () => Buffer.from('a zip begins with PK\x03\x04 and has a central directory')],
      ['the bytes of other things', async () => Buffer.concat([Buffer.from('PK\x03\x04'), randomBytes(60)])],
      ['a stored member', async () => await storedMember('kept.txt', 'ordinary')],
    ])('is sent if the signature of archives is in %s', async (_name, make) => {
      const path = join(folder, 'large');
      const bytes = largeWith(await make(), 5 * 1024 * 1024);
      await writeFile(path, bytes);
      expect(await scrubFile(path, `${path}.out`, options)).toMatchObject({ replacedCount: 0 });
      expect((await readFile(`${path}.out`)).equals(bytes)).toBe(true);
    });

    it('is not sent with an archive in it, wherever the read blocks end', async () => {
      const path = join(folder, 'large');
      const archive = await zipped({ [`${'folder/'.repeat(150)}a`]: text() });
      for (const [piece, at] of [
        [await zipped({ a: text() }), 5 * 1024 * 1024],
        [await zipped({ a: text() }), 6 * 1024 * 1024 - 20],
        [archive, 6 * 1024 * 1024 - 2],
      ] as const) {
        await writeFile(path, largeWith(piece, at));
        await expect(scrubFile(path, `${path}.out`, options)).rejects.toThrow(/too large to be unpacked/);
      }
    });
  });

  it.each([
    ['deflate', deflateSync],
    ['Brotli', brotliCompressSync],
    ['Zstandard', zstdCompressSync],
  ] as const)('is decompressed and compressed again like a file: %s', async (_name, pack) => {
    const path = join(folder, 'file');
    await writeFile(path, pack(Buffer.from(text())));
    expect(await scrubFile(path, `${path}.out`, options)).toMatchObject({ replacedCount: 1 });
    expect(readablePieces(await readFile(`${path}.out`)).join('')).toContain(`the token is ${mask}.`);
  });
});

import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { constants, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPromise } from 'yauzl';
import { ZipFile } from 'yazl';
import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { Unscrubbable } from '../../../src/agent/scrub/scrub-report.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '../../../src/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { unpackZstd } from '../../../src/lib/wire/zstd-frames.ts';

const secret = 'hunter2-&-"öther"';
const finder = new SecretFinder([secret], credentialHeaderShapes());
const options = { finder, mask: '*****' };
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let folder: string;
const path = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picket-scrub-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function writeZip(name: string, members: Readonly<Record<string, Buffer>>): Promise<string> {
  const zip = new ZipFile();
  for (const [member, bytes] of Object.entries(members)) zip.addBuffer(bytes, member);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path(name)));
  return path(name);
}

async function readZip(file: string): Promise<Map<string, Buffer>> {
  const members = new Map<string, Buffer>();
  const archive = await openPromise(file, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    members.set(entry.fileName, await buffer(await archive.openReadStreamPromise(entry)));
  }
  return members;
}

describe('a scrubbed file', () => {
  it('has no secret left, at any position in a large file', async () => {
    const line = `${'x'.repeat(1000)}\n`;
    await writeFile(
      path('log.txt'),
      line.repeat(3000) + secret + line.repeat(3000) + encodeURIComponent(secret),
    );
    const report = await scrubFile(path('log.txt'), path('log.out'), options);
    expect(report).toEqual({ replacedCount: 2, memberCount: 1, withheldCount: 0, withheld: [] });
    expect(await readFile(path('log.out'), 'utf8')).toBe(
      `${line.repeat(3000)}*****${line.repeat(3000)}*****`,
    );
  });

  it('is decompressed and compressed again', async () => {
    await writeFile(path('log.gz'), gzipSync(`a ${secret} b`));
    await scrubFile(path('log.gz'), path('log.gz.out'), options);
    expect(gunzipSync(await readFile(path('log.gz.out'))).toString()).toBe('a ***** b');
  });

  it('is refused if it is broken or an image whose pixels contain a secret', async () => {
    await writeFile(path('broken.gz'), gzipSync('x'.repeat(1000)).subarray(0, 15));
    await writeFile(path('text.png'), Buffer.concat([png, Buffer.from(secret)]));
    await writeFile(path('broken.zip'), Buffer.from('PK\u0003\u0004 nothing'));
    for (const name of ['broken.gz', 'text.png', 'broken.zip']) {
      await expect(scrubFile(path(name), path(`${name}.out`), options)).rejects.toThrow(Unscrubbable);
    }
  });

  it('keeps an image unchanged', async () => {
    await writeFile(path('shot.png'), png);
    await scrubFile(path('shot.png'), path('shot.out'), options);
    expect(await readFile(path('shot.out'))).toEqual(png);
  });
});

describe('a scrubbed archive', () => {
  it('has no secret in the second frame of Zstandard data, nor in truncated compressed data', async () => {
    const text = `${'no secret here. '.repeat(2_000)}${secret} ${randomBytes(400).toString('hex')}`;
    const frames = Buffer.concat([zstdCompressSync('first'), zstdCompressSync(text)]);
    const source = await writeZip('frames.zip', {
      'resources/two.zst': frames,
      'resources/cut.zst': zstdCompressSync(text).subarray(0, -60),
      'resources/cut.gz': gzipSync(text).subarray(0, -60),
    });
    await scrubFile(source, path('frames.out'), options);
    const members = await readZip(path('frames.out'));
    const readable = [
      unpackZstd(members.get('resources/two.zst') ?? Buffer.of(), { maxOutputLength: 1e6 }),
      unpackZstd(members.get('resources/cut.zst') ?? Buffer.of(), { maxOutputLength: 1e6 }),
      gunzipSync(members.get('resources/cut.gz') ?? '', { finishFlush: constants.Z_SYNC_FLUSH }),
    ].map(String);
    expect(readable[0]).toContain('*****');
    expect(readable.filter((one) => one.includes(secret))).toEqual([]);
  });

  it('has no secret in any member, name, compressed body or nested archive', async () => {
    const inner = await readFile(await writeZip('inner.zip', { 'deep.txt': Buffer.from(`deep ${secret}`) }));
    const source = await writeZip('trace.zip', {
      'trace.trace': Buffer.from(`{"text":${JSON.stringify(secret)}}\n`),
      'trace.network': Buffer.from('{"headers":[{"name":"Authorization","value":"Basic abc"}]}'),
      [`resources/${secret.replaceAll('"', '')}-"${secret}".json`]: Buffer.from('{}'),
      'resources/body.gz': gzipSync(secret),
      'resources/large.txt': Buffer.concat([Buffer.alloc(20 * 1024 * 1024, 'y'), Buffer.from(secret)]),
      'shot.png': png,
      'bad.png': Buffer.concat([png, Buffer.from(secret)]),
      'attachments/inner.zip': inner,
    });
    const report = await scrubFile(source, path('trace.out'), options);
    expect(report.withheldCount).toBe(1);
    expect(report.withheld).toEqual([
      { name: 'bad.png', reason: 'the bytes of a binary file contain a secret' },
    ]);
    const members = await readZip(path('trace.out'));
    expect([...members.keys()].some((name) => name.includes(secret))).toBe(false);
    expect(members.get('trace.trace')?.toString()).toBe('{"text":"*****"}\n');
    expect(members.get('trace.network')?.toString()).toBe(
      '{"headers":[{"name":"Authorization","value":"*****"}]}',
    );
    expect(gunzipSync(members.get('resources/body.gz') ?? '').toString()).toBe('*****');
    expect(members.get('resources/large.txt')?.includes(secret)).toBe(false);
    expect(members.get('shot.png')).toEqual(png);
    expect(members.has('bad.png')).toBe(false);
    await writeFile(path('inner.out'), members.get('attachments/inner.zip') ?? '');
    expect((await readZip(path('inner.out'))).get('deep.txt')?.toString()).toBe('deep *****');
  });
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SecretFinder } from '@picket/checks/secrets/secret-finder.ts';
import { maxArtifactBytes, ReportedArtifacts } from '@picket/protocol/results/artifact.ts';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { Scrubber } from '../../scrub/scrubber.ts';
import { FileScrubber } from './artifact-scrubber.ts';
import { ArtifactsOnDemand } from './artifacts-on-demand.ts';
import { RunArtifacts } from './run-artifacts.ts';

const isNight = inject('isNight');
const secret = 'correct-horse-battery';
const scrubber = new Scrubber([secret]);
const artifactScrubber = new FileScrubber(() => new SecretFinder([secret]));
const png = 'image/png';

let base: string;
let folder: string;
let artifacts: RunArtifacts;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'picket-artifacts-test-')));
  folder = join(base, 'run.1');
  artifacts = new RunArtifacts({ folder, scrubber });
});
afterEach(() => rmSync(base, { recursive: true }));

const bytes = (text: string) => Buffer.from(text);
const add = (name: string, content: Uint8Array | { path: string }, contentType = png) =>
  artifacts.add({ name, contentType, content });
/** Seals, and checks that the entries are valid for the service too. */
const seal = async () => {
  const sealed = await artifacts.seal(artifactScrubber, 60_000);
  expect(ReportedArtifacts.safeParse(sealed?.reported ?? []).error).toBeUndefined();
  return sealed;
};
const sparse = (name: string, sizeBytes: number) => {
  const path = join(base, name);
  writeFileSync(path, '');
  truncateSync(path, sizeBytes);
  return { path };
};

describe('keeping', () => {
  it('does not touch the disk before the first artifact', async () => {
    expect(await seal()).toBeUndefined();
    expect(readdirSync(base)).toEqual([]);
  });

  it('keeps bytes and files unchanged, readable by the agent only', async () => {
    const content = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    expect(await add('a.png', content)).toBe(true);
    writeFileSync(join(base, 'made-by-the-run'), content);
    expect(await add('traces/b.png', { path: join(base, 'made-by-the-run') })).toBe(true);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const sealed = await seal();
    expect(sealed?.files.map(({ name }) => name)).toEqual(['a.png', 'traces/b.png']);
    for (const file of sealed?.files ?? []) {
      expect(readFileSync(file.path).equals(content)).toBe(true);
      expect(statSync(file.path).mode & 0o777).toBe(0o600);
      expect(file.sha256).toBe(createHash('sha256').update(content).digest('hex'));
    }
    expect(sealed?.reported[0]).toEqual({
      name: 'a.png',
      contentType: png,
      sizeBytes: 256,
      sha256: sealed?.files[0]?.sha256,
      state: 'awaited',
      reason: null,
      scrub: { replacedCount: 0, memberCount: 1, withheldCount: 0 },
    });
    // The raw copies are gone.
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it('accepts nothing once the run is over', async () => {
    await add('a.png', bytes('x'));
    await seal();
    expect(await add('b.png', bytes('x'))).toBe(false);
    await artifacts.discard();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('limits', () => {
  // By day the largest size is taken by the test of the total only.
  it.each([...(isNight ? ([['150.0 MB', maxArtifactBytes]] as const) : []), ['nothing', 0]] as const)(
    'takes %s',
    async (_name, sizeBytes) => {
      expect(await add('a.bin', sparse('file', sizeBytes))).toBe(true);
      expect((await seal())?.files[0]?.sizeBytes).toBe(sizeBytes);
    },
  );

  it.each([
    ['one byte more than 150 MB', maxArtifactBytes + 1, '150.1 MB (157286401 bytes)'],
    ['150.1 MB', Math.floor(150.1 * 2 ** 20), '150.1 MB'],
    ['a sparse file of 10 GB', 10 * 2 ** 30, '10240.0 MB'],
  ])('refuses %s and reports it with the size', async (_name, sizeBytes, text) => {
    expect(await add('a.bin', sparse('file', sizeBytes))).toBe(false);
    const sealed = await seal();
    expect(sealed?.files).toEqual([]);
    expect(sealed?.reported).toMatchObject([{ name: 'a.bin', state: 'refused', sizeBytes }]);
    expect(sealed?.reported[0]?.reason).toContain(text);
    expect(existsSync(folder)).toBe(false);
  });

  it('refuses artifacts that exceed the limit in total', async () => {
    for (const name of ['a', 'b', 'c', 'd'])
      expect(await add(name, sparse(name, maxArtifactBytes))).toBe(true);
    expect(await add('e', bytes('x'))).toBe(false);
    await artifacts.discard();
  });

  it('accepts 200 of very many files, and counts the others', async () => {
    const adding = [];
    const count = isNight ? 100_000 : 5_000;
    for (let index = 0; index < count; index++) adding.push(add(`${index}.png`, bytes('x')));
    expect((await Promise.all(adding)).filter(Boolean)).toHaveLength(200);
    const sealed = await seal();
    expect(sealed?.files).toHaveLength(200);
    expect(sealed?.reported).toHaveLength(251);
    expect(sealed?.reported.at(-1)?.reason).toBe(`${count - 250} more files were refused`);
  });

  it('sends the content that a file had when it was added, however it grows', async () => {
    const path = join(base, 'log');
    writeFileSync(path, 'first line\n');
    const growing = setInterval(() => appendFileSync(path, 'another line\n'), 1);
    try {
      expect(await add('run.log', { path }, 'text/plain')).toBe(true);
    } finally {
      clearInterval(growing);
    }
    const sealed = await seal();
    const kept = readFileSync(sealed?.files[0]?.path ?? '');
    expect(kept.toString().startsWith('first line\n')).toBe(true);
    expect(sealed?.files[0]).toMatchObject({
      sizeBytes: kept.length,
      sha256: createHash('sha256').update(kept).digest('hex'),
    });
  });

  it('reports that the disk is full, and accepts what fits', async (context) => {
    mkdirSync(folder);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      context.skip('no file system can be mounted here');
    }
    try {
      expect(await add('large.png', Buffer.alloc(3_000_000))).toBe(false);
      expect(await add('small.png', Buffer.alloc(500_000))).toBe(true);
      const sealed = await seal();
      expect(sealed?.reported).toMatchObject([
        { name: 'large.png', state: 'refused', reason: "there is no room on the agent's disk" },
        { name: 'small.png', state: 'awaited' },
      ]);
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});

describe('what a script may try', () => {
  const host = () => {
    const path = join(base, 'of-the-host');
    writeFileSync(path, 'private');
    return path;
  };
  const made = (name: string, make: (path: string) => void) => {
    const path = join(base, name);
    make(path);
    return path;
  };
  it.each<[string, () => string, string]>([
    ['a symbolic link', () => made('link', (path) => symlinkSync(host(), path)), 'it is a symbolic link'],
    [
      'a folder that is a symbolic link',
      () =>
        join(
          made('folder', (path) => symlinkSync(join(host(), '..'), path)),
          'of-the-host',
        ),
      'there is a symbolic link in its path',
    ],
    [
      'a hard link',
      () => made('hard', (path) => linkSync(host(), path)),
      'it has several names (hard links)',
    ],
    ['a FIFO', () => made('fifo', (path) => execFileSync('mkfifo', [path])), 'it is not a regular file'],
    ['a folder', () => base, 'it is not a regular file'],
    ['a device', () => '/dev/zero', 'it is not a regular file'],
    ['nothing', () => join(base, 'missing'), 'there is no such file'],
    ['a path with NUL', () => 'a\0b', 'its path is not valid'],
  ])('refuses %s', async (_name, prepare, reason) => {
    expect(await add('a.png', { path: prepare() })).toBe(false);
    expect((await seal())?.reported).toMatchObject([{ name: 'a.png', state: 'refused', reason }]);
  });

  it.each([
    '../../etc/cron.d/x',
    'a/../b',
    '/etc/passwd',
    'a//b',
    'a/',
    '.',
    'a/..',
    'line\nbreak',
    'nul\0',
    '\u202Egnp.exe',
    'ümlaut.png',
    'back\\slash',
    '',
    '\uD800',
    'x'.repeat(256),
  ])('refuses the name %j, and shows it without misleading characters', async (name) => {
    expect(await add(name, bytes('x'))).toBe(false);
    expect((await seal())?.reported).toMatchObject([
      { state: 'refused', reason: expect.stringContaining('its name') },
    ]);
    expect(readdirSync(base)).toEqual([]);
  });

  it('refuses a name that is already used', async () => {
    expect(await Promise.all([add('a.png', bytes('1')), add('a.png', bytes('2'))])).toEqual([true, false]);
  });
});

describe('secrets', () => {
  it('are removed from texts', async () => {
    await add('a.log', bytes(`Bearer ${secret}!`), 'text/plain; charset=utf-8');
    const sealed = await seal();
    expect(readFileSync(sealed?.files[0]?.path ?? '', 'utf8')).toBe('Bearer *********!');
    expect(sealed?.reported[0]?.scrub).toMatchObject({ replacedCount: 1 });
  });

  const pngMagic = Buffer.from('89504e470d0a1a0a', 'hex');
  it.each([
    [
      'an image that spells one',
      Buffer.concat([pngMagic, Buffer.alloc(2 ** 20 - 15, 0xff), bytes(secret), Buffer.alloc(5_000_000)]),
      'contain a secret',
    ],
    ['a zip that cannot be read', bytes('PK\u0003\u0004 and no more'), ''],
    ['a format nobody can look into', Buffer.from('fd377a585a000000', 'hex'), 'xz files cannot be searched'],
    ['a document', bytes('%PDF-1.7'), 'pdf files'],
  ])('cause %s to be withheld', async (_name, content, reason) => {
    expect(await add('a', content)).toBe(true);
    const sealed = await seal();
    expect(sealed?.files).toEqual([]);
    expect(sealed?.reported).toMatchObject([
      { state: 'withheld', sizeBytes: content.length, reason: expect.stringContaining(reason) },
    ]);
    expect(existsSync(folder)).toBe(false);
  });

  it('do not appear in names', async () => {
    expect(await add(`${secret}.png`, bytes('x'))).toBe(false);
    expect(JSON.stringify(await seal())).not.toContain(secret);
  });
});

describe('on demand', () => {
  const file = { name: 'a.png', contentType: png, content: bytes('x') };

  it('are made with the first file, and once', async () => {
    const onDemand = new ArtifactsOnDemand(() => artifacts);
    expect(await Promise.all([onDemand.add(file), onDemand.add({ ...file, name: 'b.png' })])).toEqual([
      true,
      true,
    ]);
    expect(onDemand.end()).toBe(artifacts);
    expect((await seal())?.files.length).toBe(2);
    expect(await onDemand.add({ ...file, name: 'late.png' })).toBe(false);
  });

  it('refuse a first file after the run, and make nothing', async () => {
    const onDemand = new ArtifactsOnDemand(() => {
      throw new Error('made');
    });
    expect(onDemand.end()).toBeUndefined();
    expect(await onDemand.add(file)).toBe(false);
  });
});

import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DependencyCache } from '../../../src/sandbox/suites/dependency-cache.ts';

describe('the packages that a suite installed', () => {
  let folder: string;
  let cache: DependencyCache;
  const ownerUid = process.getuid?.() ?? 0;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picket-adopt-'));
    cache = await DependencyCache.open(join(folder, 'cache'), 2 ** 30);
    await mkdir(join(folder, 'slot'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const makeModules = async (directory: string) => {
    await mkdir(join(directory, 'node_modules/a'), { recursive: true });
    await writeFile(join(directory, 'node_modules/a/index.js'), 'mine');
  };

  it('are moved from the folder of the suite', async () => {
    const suiteDirectory = join(folder, 'slot/suite');
    await makeModules(suiteDirectory);
    expect(await cache.add('key', { suiteDirectory, ownerUid, isShared: false })).toMatchObject({
      links: [{ path: 'node_modules' }],
    });
  });

  it('are removed at the next start if unidentified, and make room for others', async () => {
    const directory = join(folder, 'cache');
    for (const key of ['whole', 'cut', 'other']) {
      const suiteDirectory = join(folder, 'slot', key);
      await makeModules(suiteDirectory);
      await cache.add(key, { suiteDirectory, ownerUid, isShared: false });
    }
    // As after a power failure, and as another build may have written it.
    await writeFile(join(directory, 'cut/.picket.json'), '');
    await writeFile(join(directory, 'other/.picket.json'), '{"folders":[],"sizeBytes":1}');
    const reopened = await DependencyCache.open(directory, 2 ** 30);
    expect(await readdir(directory)).toEqual(['whole']);
    expect(await reopened.find('cut')).toBeUndefined();
    expect(reopened.usage, 'a file of 4 bytes').toEqual({ hitCount: 0, missCount: 1, sizeBytes: 4 });
    expect(await reopened.find('whole')).toMatchObject({ links: [{ path: 'node_modules' }] });
  });

  it('include nothing behind links: the packages of others stay where they are', async () => {
    await makeModules(join(folder, 'project'));
    const suiteDirectory = join(folder, 'slot/suite');
    await symlink(join(folder, 'project'), suiteDirectory);
    expect(await cache.add('key', { suiteDirectory, ownerUid, isShared: false })).toEqual({
      refused: 'the folder of the suite was replaced',
    });
    expect(await readFile(join(folder, 'project/node_modules/a/index.js'), 'utf8')).toBe('mine');
  });
});

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
    expect(
      await cache.add('key', { suiteDirectory, ownerUid, isShared: false, refusesScripts: false }),
    ).toMatchObject({
      links: [{ path: 'node_modules' }],
    });
  });

  it('are removed at the next start if unidentified, and make room for others', async () => {
    const directory = join(folder, 'cache');
    for (const key of ['whole', 'cut', 'other']) {
      const suiteDirectory = join(folder, 'slot', key);
      await makeModules(suiteDirectory);
      await cache.add(key, { suiteDirectory, ownerUid, isShared: false, refusesScripts: false });
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
    expect(
      await cache.add('key', { suiteDirectory, ownerUid, isShared: false, refusesScripts: false }),
    ).toEqual({
      refused: 'the folder of the suite was replaced',
    });
    expect(await readFile(join(folder, 'project/node_modules/a/index.js'), 'utf8')).toBe('mine');
  });

  it('make room for others when they are used least, unless a run uses them', async () => {
    const small = await DependencyCache.open(join(folder, 'small'), 10);
    const add = async (key: string) => {
      const suiteDirectory = join(folder, 'slot', key);
      await makeModules(suiteDirectory);
      const kept = await small.add(key, { suiteDirectory, ownerUid, isShared: false, refusesScripts: false });
      if ('refused' in kept) throw new Error(kept.refused);
      return kept;
    };
    (await add('released')).release();
    await add('used');
    await add('newest');
    expect((await readdir(join(folder, 'small'))).sort()).toEqual(['newest', 'used']);
    expect(small.usage).toMatchObject({ sizeBytes: 8 });
  });

  it('leave links to the workspace to the suite, and never lead out of it', async () => {
    const add = async (key: string, target: string) => {
      const suiteDirectory = join(folder, 'slot', key);
      await makeModules(suiteDirectory);
      await mkdir(join(suiteDirectory, 'node_modules/@shop'));
      await symlink(target, join(suiteDirectory, 'node_modules/@shop/pages'));
      return await cache.add(key, { suiteDirectory, ownerUid, isShared: true, refusesScripts: true });
    };
    expect(await add('workspace', '../../packages/pages')).toMatchObject({
      links: [
        { path: 'node_modules/a' },
        { path: 'node_modules/@shop/pages', target: '../../packages/pages' },
      ],
    });
    const refused = { refused: 'node_modules/@shop/pages leads out of node_modules' };
    expect(await add('above', '../../../x')).toEqual(refused);
    expect(await cache.find('above'), 'it is remembered').toEqual(refused);
    expect(await add('absolute', '/etc')).toEqual(refused);
  });
});

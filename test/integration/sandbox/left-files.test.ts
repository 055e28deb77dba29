import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findLeft, leftFile } from '../../../src/sandbox/scripts/left-files.ts';
import { leftNotes } from '../../../src/sandbox/scripts/notes.ts';

describe('files a run left', () => {
  let outside: string;
  let folder: string;
  beforeEach(async () => {
    outside = await mkdtemp(join(tmpdir(), 'picket-left-'));
    folder = join(outside, 'run');
    await mkdir(join(folder, 'shots/deep'), { recursive: true });
    await writeFile(join(outside, 'key'), 'secret');
    await writeFile(join(folder, 'shots/deep/a.png'), '12345');
  });
  afterEach(() => rm(outside, { recursive: true }));

  it('are collected by relative and absolute paths', async () => {
    const file = { path: join(folder, 'shots/deep/a.png'), sizeBytes: 5 };
    expect(await leftFile(folder, 'shots/deep/a.png')).toEqual(file);
    expect(await leftFile(folder, file.path)).toEqual(file);
  });

  it('are not collected if they are links, hard links, folders, or outside', async () => {
    await symlink(join(outside, 'key'), join(folder, 'link.png'));
    await symlink(outside, join(folder, 'up'));
    await symlink('/dev/zero', join(folder, 'endless'));
    await link(join(outside, 'key'), join(folder, 'hard.png'));
    for (const path of [
      'link.png',
      'up/key',
      'hard.png',
      'endless',
      'shots',
      'missing',
      '../key',
      join(outside, 'key'),
      '',
      'shots/deep/a.png\0',
      '\0',
      '.',
    ]) {
      expect(await leftFile(folder, path), path).toBeUndefined();
    }
    expect(await leftNotes(folder, 'link.png', 1000)).toMatchObject({ lines: [], secrets: [] });
  });

  it('are found by extension, not through links, and not in excluded folders', async () => {
    await symlink(outside, join(folder, 'up'));
    await mkdir(join(folder, 'given'));
    for (const path of ['given/b.png', 'c.PNG', 'd.txt']) await writeFile(join(folder, path), '');
    const extensions = new Set(['png']);
    expect(await findLeft(folder, { extensions, except: new Set(['given']) })).toEqual([
      'c.PNG',
      'shots/deep/a.png',
    ]);
    expect(await findLeft(join(folder, 'nothing'), { extensions, except: new Set() })).toEqual([]);
  });

  it('exclude files that a running browser keeps for itself', async () => {
    for (const name of ['playwright-artifacts-x1', 'playwright_chromiumdev_profile-x1']) {
      await mkdir(join(folder, '.tmp', name), { recursive: true });
      await writeFile(join(folder, '.tmp', name, 'page.png'), '1');
    }
    const found = await findLeft(folder, { extensions: new Set(['png']), except: new Set() });
    expect(found).toEqual(['shots/deep/a.png']);
  });

  it('are read line by line up to a limit', async () => {
    await writeFile(join(folder, 'notes'), 'one\n\ntwo\nthree\n');
    expect(await leftNotes(folder, 'notes', 10)).toMatchObject({ lines: ['one', 'two'] });
  });

  describe('declare secrets', () => {
    const told = (value: string) => `${JSON.stringify({ at: 1, event: 'secret', name: 'N', value })}\n`;
    const notes = async (text: string, maxBytes = 100) => {
      await writeFile(join(folder, 'notes'), text);
      return await leftNotes(folder, 'notes', maxBytes);
    };

    it('at any position, once each', async () => {
      const { lines, secrets, hasTooManySecrets } = await notes(
        `${'x'.repeat(500)}\n${told('one')}${told('two')}${told('one')}`,
      );
      expect(lines).toEqual([]);
      expect(secrets.map(({ value }) => value)).toEqual(['one', 'two']);
      expect(hasTooManySecrets).toBe(false);
    });

    it.each([
      ['many', Array.from({ length: 200_000 }, (_, index) => told(`secret-${index}`)).join('')],
      ['long together', Array.from({ length: 5 }, (_, index) => told(`${index}`.repeat(60_000))).join('')],
      ['longer than a line', told('s'.repeat(2_000_000))],
    ])('that are too %s', async (_name, text) => {
      expect((await notes(text)).hasTooManySecrets).toBe(true);
    });
  });
});

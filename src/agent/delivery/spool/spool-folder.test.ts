import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SpoolFolder, spoolTag } from './spool-folder.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'picket-spool-test-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it('is accessible to its user only, and deleted when empty', () => {
  const folder = SpoolFolder.open(join(directory, 'new'), 'tag');
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder.path, 'lock')).mode & 0o777).toBe(0o600);
  folder.close();
  expect(readdirSync(join(directory, 'new'))).toEqual([]);
});

it('is closed to others again after its permissions were opened', () => {
  mkdirSync(join(directory, 'picket-spool.tag.0'));
  chmodSync(join(directory, 'picket-spool.tag.0'), 0o777);
  const folder = SpoolFolder.open(directory, 'tag');
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
  folder.close();
});

it('belongs to one agent at a time; another agent gets a different one', () => {
  const one = SpoolFolder.open(directory, 'tag');
  const other = SpoolFolder.open(directory, 'tag');
  expect([one.path, other.path].map((path) => path.at(-1))).toEqual(['0', '1']);
  expect(SpoolFolder.takeLeft(directory, 'tag', one)).toEqual([]);
  one.close();
  other.close();
});

it('is free again when its process was killed', async () => {
  const module = new URL('./spool-folder.ts', import.meta.url).href;
  const script = `import { SpoolFolder } from ${JSON.stringify(module)};
    import { writeFileSync } from 'node:fs';
    const folder = SpoolFolder.open(${JSON.stringify(directory)}, 'tag');
    writeFileSync(folder.path + '/something', '');
    console.log('locked');
    setInterval(() => folder.path, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const own = SpoolFolder.open(directory, 'tag');
  expect(own.path.at(-1)).toBe('1');
  expect(SpoolFolder.takeLeft(directory, 'tag', own)).toEqual([]);
  child.kill('SIGKILL');
  await once(child, 'close');
  const left = SpoolFolder.takeLeft(directory, 'tag', own);
  expect(left.map(({ path }) => path.at(-1))).toEqual(['0']);
  for (const folder of [...left, own]) folder.close();
  expect(readdirSync(directory)).toEqual(['picket-spool.tag.0']);
});

it('is counted when it belongs to another location or service', () => {
  const other = SpoolFolder.open(directory, 'other');
  expect(SpoolFolder.countForeign(directory, 'tag')).toBe(1);
  other.close();
});

it('is named after service and key, and does not reveal the key', () => {
  const tag = spoolTag('https://picket.example.com', 'pl_secret');
  expect(tag).toMatch(/^[0-9a-f]{16}$/);
  expect(spoolTag('https://picket.example.com', 'pl_other')).not.toBe(tag);
  expect(spoolTag('https://other.example.com', 'pl_secret')).not.toBe(tag);
});

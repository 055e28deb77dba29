import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { besideFullBundle } from '../../scripts/bundle/kinds.ts';

const root = join(import.meta.dirname, '../..');

it('leaves packages that programs of sandboxes load, or that are found by name, in the image', () => {
  const namedIn = (files: string, pattern: RegExp) =>
    globSync(files, { cwd: root }).flatMap((file) =>
      file.includes('.test.')
        ? []
        : [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([, name = '']) => name),
    );
  const names = [
    // Copied into the image as they are. Playwright is that of a runtime.
    ...namedIn('src/sandbox/program/**/*.{cjs,mjs}', /(?:\bfrom |\brequire\(|\bimport\()'([^.'][^']*)'/g),
    ...namedIn('src/**/*.ts', /\bcreateRequire\([^)]*\)\.resolve\('([^']+)'\)/g),
  ].filter((name) => !/^node:|^@?playwright/.test(name));
  expect(names).toContain('tar-stream');
  expect(names.filter((name) => !besideFullBundle().includes(name))).toEqual([]);
});

it('has compiled code that the user of the image can read, whoever built it', () => {
  const folder = dirname(process.env.PICKET_TEST_PROGRAM ?? '');
  const compiled = globSync(join(folder, '*.compiled'));
  expect(compiled.length).toBeGreaterThan(100);
  expect(compiled.filter((file) => (statSync(file).mode & 0o444) !== 0o444)).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it('every dependency at run time has a line that justifies it, and nothing else has', () => {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'optionalDependencies', Record<string, string>>;
  const page = readFileSync(join(root, 'docs/explanation/dependencies.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([^`]+)` \|(.+)\|(.+)\|(.+)\|$/gm)];
  for (const [, name, ...reasons] of rows)
    expect(
      reasons.map((text) => text.trim() !== ''),
      name,
    ).toEqual([true, true, true]);
  const installed = Object.keys({ ...dependencies, ...optionalDependencies });
  expect(rows.map(([, name]) => name).sort()).toEqual(installed.sort());
});

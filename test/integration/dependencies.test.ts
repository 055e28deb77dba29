import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const manifests = ['package.json', ...globSync('src/{*,extras/*}/package.json', { cwd: root })].map(
  (file): Manifest => JSON.parse(readFileSync(join(root, file), 'utf8')),
);
const installed = manifests.flatMap(({ name, dependencies, optionalDependencies }) =>
  Object.entries({ ...dependencies, ...optionalDependencies })
    .filter(([dependency]) => !dependency.startsWith('@picket/'))
    .map(([dependency, version]) => ({ name, dependency, version })),
);

it('every runtime dependency has a line that justifies it, and nothing else has', () => {
  const page = readFileSync(join(root, 'docs/explanation/dependencies.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([^`]+)` \|(.+)\|(.+)\|(.+)\|$/gm)];
  for (const [, name, ...reasons] of rows)
    expect(
      reasons.map((text) => text.trim() !== ''),
      name,
    ).toEqual([true, true, true]);
  const names = [...new Set(installed.map(({ dependency }) => dependency))];
  expect(rows.map(([, name]) => name).sort()).toEqual(names.sort());
});

it('a dependency has one version in all packages', () => {
  const versions = new Map(installed.map(({ dependency, version }) => [dependency, version]));
  expect(installed.filter(({ dependency, version }) => versions.get(dependency) !== version)).toEqual([]);
});

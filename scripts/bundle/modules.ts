/**
 * Copies the packages that the full bundle loads from `node_modules`, with those that they need in turn, to a folder:
 * `node scripts/bundle/modules.ts [--from CHECKOUT] FOLDER [MORE…]`, where MORE are names of further packages, and
 * CHECKOUT has the `node_modules` of another platform. Packages that the bundle already contains stay behind, and so do type declarations, source maps and documents, which nothing reads at run time.
 */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { besideFullBundle } from './kinds.ts';

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string', default: root } },
});
const { from: checkout } = values;
const [folder, ...more] = positionals;
if (folder === undefined) {
  console.error('usage: node scripts/bundle/modules.ts [--from CHECKOUT] FOLDER [MORE...]');
  process.exit(2);
}
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const unread = /(\.d\.[cm]?ts|\.map|\.md|\.markdown|\.gypi?)$/;

for (const path of closureOf([...besideFullBundle(), ...more])) {
  cpSync(join(checkout, path), join(folder, path.replace(/^node_modules\//, '')), {
    recursive: true,
    // Packages below this one are copied when something needs them.
    filter: (file) => basename(file) !== 'node_modules' && !unread.test(file),
  });
}

/** Paths of packages in the lockfile: those named, and all that they depend on and that are installed here. */
function closureOf(names: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const waiting = names.map((name) => ({ name, from: '' }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const path = find(next.name, next.from);
    if (path === undefined || found.has(path) || !existsSync(join(checkout, path))) continue;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = locked[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      waiting.push({ name, from: path });
  }
  return [...found].sort();
}

/** The package that Node would load for a name in the package at `from`. */
function find(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = join(folder, 'node_modules', name);
    if (locked[path] !== undefined) return path;
    if (folder === '') return undefined;
  }
}

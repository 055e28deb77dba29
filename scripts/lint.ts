/**
 * Style and structure: `npm run lint [-- --write]`. Biome checks format and lint rules (and fixes what it can with
 * `--write`), dependency-cruiser checks the import arrows of docs/explanation/architecture.md, words.ts the words,
 * grammar.ts the sentences of texts that people read.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
const isWrite = process.argv.includes('--write');

const steps: readonly (readonly [string, readonly string[]])[] = [
  [bin('biome'), isWrite ? ['check', '--write', '.'] : ['ci', '.']],
  [bin('depcruise'), ['--config', '.dependency-cruiser.mjs', 'src']],
  [process.execPath, [join(root, 'scripts', 'words.ts')]],
  [process.execPath, [join(root, 'scripts', 'grammar.ts')]],
];
let failed = 0;
for (const [command, args] of steps) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) failed += 1;
}
process.exitCode = failed === 0 ? 0 : 1;

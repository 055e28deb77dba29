import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, glob, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLogger } from '../../src/lib/log.ts';
import { openStore } from '../../src/server/compose.ts';

/** Modules that tests preload into the program: they share the program's modules. */
const preloaded = ['test/helpers/agent/fixtures/leave-artifacts.mjs'];
const root = join(import.meta.dirname, '../..');
const prefix = '.compiled-';
/** An SQLite database with the current schema and no rows, which tests copy. */
const migratedName = 'migrated.sqlite';
/** Longer than any benchmark whose processes still run from there. */
const staleAfterMs = 6 * 3_600_000;

/**
 * vitest's global setup: bundles the program once, as in the image, so that the hundreds of processes that tests start
 * need not each strip types and resolve modules. The folder is named after the hash of the sources and is next to
 * `src`, because the program looks for files of the package above its own folder.
 */
export default async function compile(): Promise<void> {
  const folder = join(root, `${prefix}${await hashOfSources()}`);
  if (existsSync(folder)) {
    const now = new Date();
    await utimes(folder, now, now);
  } else {
    await removeStale();
    const unfinished = await mkdtemp(join(root, `${prefix}unfinished-`));
    // Sandboxes and tests that run as other users read it too.
    await chmod(unfinished, 0o755);
    const lib = join(unfinished, 'lib');
    const run = async (script: string, ...args: string[]) =>
      await promisify(execFile)(process.execPath, [join(root, 'scripts', script), ...args], { cwd: root });
    await run('bundle.ts', 'full', lib, ...preloaded);
    await run('bundle/compile.mjs', lib, 'agent', 'service');
    const logger = createLogger('test', 'silent');
    await (await openStore({ path: join(unfinished, migratedName), logger })).close();
    await rename(unfinished, folder).catch(async (thrown: NodeJS.ErrnoException) => {
      // Another test run has just compiled the same sources.
      if (thrown.code !== 'ENOTEMPTY' && thrown.code !== 'EEXIST') throw thrown;
      await rm(unfinished, { recursive: true });
    });
  }
  process.env.PICKET_TEST_PROGRAM = join(folder, 'lib', 'cli.js');
  process.env.PICKET_TEST_SQLITE = join(folder, migratedName);
  // The first process stores compiled modules and stripped types there for the others.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const paths: string[] = [];
  const patterns = ['src/**/*', 'scripts/bundle.ts', 'scripts/bundle/*', 'package-lock.json', ...preloaded];
  for await (const path of glob(patterns, { cwd: root })) paths.push(path);
  for (const path of paths.sort()) {
    if (path.endsWith('.test.ts') || (await stat(join(root, path))).isDirectory()) continue;
    hash.update(`${path}\n`).update(await readFile(join(root, path)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Removes bundles of other sources, unless they were used lately. */
async function removeStale(): Promise<void> {
  for (const name of await readdir(root)) {
    const path = join(root, name);
    if (!name.startsWith(prefix)) continue;
    if (Date.now() - (await stat(path)).mtimeMs < staleAfterMs) continue;
    await rm(path, { recursive: true, force: true });
  }
}

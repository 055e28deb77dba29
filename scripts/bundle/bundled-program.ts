import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, glob, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');
const prefix = '.compiled-';
/** Longer than programs from there run without a sign of use. */
const staleAfterMs = 6 * 3_600_000;
const keepMs = 3_600_000;

/**
 * Bundles the program as in the images, once for the present sources: processes from it start sooner and take less memory
 * than from the sources. The program is `lib/cli.js` in a folder that is named after the hash of the sources, and next to
 * `src`, because the program looks for files of the package above its own folder. Folders of other sources that were not
 * used lately are removed.
 *
 * @param purpose distinguishes folders with other contents.
 * @param options.preloads modules below the checkout that share the program's modules.
 * @param options.finish adds files to the folder before anyone uses it.
 * @returns the folder.
 */
export async function bundledProgram(
  purpose: string,
  options: {
    readonly preloads?: readonly string[];
    readonly finish?: (folder: string) => Promise<void>;
  } = {},
): Promise<string> {
  const { preloads = [], finish } = options;
  const folder = join(root, `${prefix}${purpose}-${await hashOfSources(preloads)}`);
  if (existsSync(folder)) {
    await touch(folder);
    return folder;
  }
  await removeStale();
  const unfinished = await mkdtemp(join(root, `${prefix}unfinished-`));
  // Sandboxes and processes of other users read it, too.
  await chmod(unfinished, 0o755);
  await runScript('bundle.ts', 'full', join(unfinished, 'lib'), ...preloads);
  await finish?.(unfinished);
  await rename(unfinished, folder).catch(async (thrown: NodeJS.ErrnoException) => {
    // Another process has just bundled the same sources.
    if (thrown.code !== 'ENOTEMPTY' && thrown.code !== 'EEXIST') throw thrown;
    await rm(unfinished, { recursive: true });
  });
  return folder;
}

/** Runs a program of `scripts/` in the checkout. */
export async function runScript(script: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts', script), ...args], { cwd: root });
}

/** Shows for as long as this process lives that it uses the folder. */
export function keepInUse(folder: string): void {
  const timer = setInterval(() => {
    touch(folder).catch((thrown: Error) => {
      clearInterval(timer);
      console.error(`Start again: the folder of the program is gone (${thrown.message})`);
    });
  }, keepMs);
  timer.unref();
}

async function touch(folder: string): Promise<void> {
  const now = new Date();
  await utimes(folder, now, now);
}

async function hashOfSources(preloads: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  const paths: string[] = [];
  const patterns = ['src/**/*', 'scripts/bundle.ts', 'scripts/bundle/*', 'package-lock.json', ...preloads];
  for await (const path of glob(patterns, { cwd: root })) paths.push(path);
  for (const path of paths.sort()) {
    if (path.endsWith('.test.ts') || (await stat(join(root, path))).isDirectory()) continue;
    hash.update(`${path}\n`).update(await readFile(join(root, path)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function removeStale(): Promise<void> {
  for (const name of await readdir(root)) {
    const path = join(root, name);
    if (!name.startsWith(prefix)) continue;
    if (Date.now() - (await stat(path)).mtimeMs < staleAfterMs) continue;
    await rm(path, { recursive: true, force: true });
  }
}

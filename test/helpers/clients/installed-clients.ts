import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const manifests = ['package.json', 'package-lock.json'];
const cache = join(import.meta.dirname, '../../../node_modules/.cache');

let installation: Promise<string> | undefined;

/**
 * Returns the node_modules of the clients that the package.json next to this file names, installed from the lockfile
 * without install scripts. The folder is named after the lockfile, so later runs reuse it. If two test files install at
 * once, the first to finish wins.
 */
export function installedClients(): Promise<string> {
  installation ??= install();
  return installation;
}

async function install(): Promise<string> {
  const lockfile = await readFile(join(import.meta.dirname, 'package-lock.json'));
  const folder = join(cache, `clients-${createHash('sha256').update(lockfile).digest('hex').slice(0, 16)}`);
  const modules = join(folder, 'node_modules');
  if (existsSync(modules)) return modules;
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(join(cache, 'clients-unfinished-'));
  try {
    for (const name of manifests) await copyFile(join(import.meta.dirname, name), join(aside, name));
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: aside,
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
      },
    });
    await rename(aside, folder).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'ENOTEMPTY' && thrown.code !== 'EEXIST') throw thrown;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return modules;
}

import { readFileSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The packages that scripts of one runtime can use, installed on this host. */
export interface Runtime {
  readonly id: string;
  readonly directory: string;
  /** Absolute path, with links resolved: run folders link to it. */
  readonly modulesDirectory: string;
  readonly playwrightVersion: string;
}

/** The runtimes that are installed on this host. */
export interface Runtimes {
  /** Newest first. */
  readonly ids: readonly string[];
  find(id: string): Runtime | undefined;
}

const runtimeId = /^\d{4}\.\d{2}$/;

/**
 * Reads the folder that contains the runtimes, one folder each. Runtimes without installed packages are ignored.
 *
 * @param directory such as `runtimes` of the checkout or the image; it may be a link, and read-only.
 */
export async function readRuntimes(directory: string): Promise<Runtimes> {
  const found = new Map<string, Runtime>();
  for (const id of (await readdir(directory))
    .filter((name) => runtimeId.test(name))
    .sort()
    .reverse()) {
    const runtime = await readRuntime(join(directory, id), id);
    if (runtime) found.set(id, runtime);
  }
  return { ids: [...found.keys()], find: (id) => found.get(id) };
}

/** A fingerprint of the installed runtimes, to compare with an earlier one. */
export async function installedState(directory: string): Promise<string> {
  const names = await readdir(directory).catch(() => []); // not created yet
  const states = names
    .filter((name) => runtimeId.test(name))
    .sort()
    .map(async (id) => {
      const files = ['node_modules', 'node_modules/.package-lock.json'].map((file) =>
        join(directory, id, file),
      );
      const times = await Promise.all(
        files.map((file) =>
          stat(file).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
        ),
      );
      return [id, ...times].join(' ');
    });
  return (await Promise.all(states)).join('\n');
}

async function readRuntime(directory: string, id: string): Promise<Runtime | undefined> {
  try {
    const modulesDirectory = await realpath(join(directory, 'node_modules'));
    await stat(join(modulesDirectory, '@playwright/test/cli.js'));
    const manifest = JSON.parse(
      await readFile(join(modulesDirectory, 'playwright-core/package.json'), 'utf8'),
    );
    return { id, directory, modulesDirectory, playwrightVersion: String(manifest.version) };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** The packages that a runtime's manifest promises to scripts, with the versions in its lockfile. */
export function promisedPackages(runtime: Pick<Runtime, 'directory'>): Map<string, string> {
  const read = (name: string) => JSON.parse(readFileSync(join(runtime.directory, name), 'utf8'));
  const { dependencies } = read('package.json') as { dependencies: Record<string, string> };
  const { packages } = read('package-lock.json') as { packages: Record<string, { version?: string }> };
  return new Map(
    Object.keys(dependencies).map((name) => [name, packages[`node_modules/${name}`]?.version ?? 'none']),
  );
}

/**
 * Returns the import specifier of a package in a runtime's manifest: its name, except for packages without a main
 * entry.
 */
export function packageEntry({ directory }: Pick<Runtime, 'directory'>): (name: string) => string {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    picket?: { entries?: Readonly<Record<string, string>> };
  };
  return (name) => manifest.picket?.entries?.[name] ?? name;
}

/** The message for a runtime that is not installed. */
export function missingRuntime(id: string, { ids }: Pick<Runtimes, 'ids'>): string {
  const has = ids.length === 0 ? 'none is' : `${ids.join(' and ')} ${ids.length === 1 ? 'is' : 'are'}`;
  const name = id === '' ? '(the newest)' : id;
  return `Runtime ${name} is not installed on this agent (${has}): choose another runtimeId, or install it`;
}

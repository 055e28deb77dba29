import { chmod, lstat, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf } from '../../lib/errors.ts';
import { programDirectory } from '../program-directory.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Runtime } from './runtimes.ts';

const program = join(programDirectory, 'compile-ahead.cjs');
const timeoutMs = 60_000;
const maxEntryBytes = 32 * 1024 * 1024;
const maxEntries = 5000;

/**
 * Node's cache of compiled code (`NODE_COMPILE_CACHE`), one folder for each runtime. A process that has seen no script fills
 * it in a sandbox; the agent copies the files out, and scripts can read them and never change them.
 *
 * Node puts the user's id into the name of a folder within, so each user of a sandbox finds a link there to the same files.
 */
export class CompileCaches {
  readonly #directory: string;
  readonly #filled = new Map<string, { readonly folder: string; readonly name: string }>();
  readonly #linked = new Set<string>();

  /** @param directory made when something is put there. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Fills the cache of a runtime. Without one runs are only slower, so nothing here stops anything. */
  async fill(runtime: Runtime, sandbox: Sandbox, nodePath: string): Promise<void> {
    const running = sandbox.start({
      path: nodePath,
      args: [program, runtime.modulesDirectory],
      environment: { LANG: 'C.UTF-8', NODE_COMPILE_CACHE: join(sandbox.directory, 'compiled') },
      limits: {
        memoryBytes: 1024 ** 3,
        wallMs: timeoutMs,
        cpuMs: timeoutMs,
        processCount: 128,
        outputBytes: 1024 * 1024,
        diskBytes: 200 * 1024 * 1024,
      },
      onOutput: () => undefined,
    });
    running.input.end();
    const { exitCode } = await running.ended;
    const name = exitCode === 0 ? await folderIn(join(sandbox.directory, 'compiled')) : undefined;
    if (name === undefined) return;
    const folder = join(this.#directory, runtime.id);
    await rm(folder, { recursive: true, force: true });
    for (const path of [this.#directory, folder, join(folder, 'files')]) await makeReadable(path);
    const entries = await readdir(join(sandbox.directory, 'compiled', name));
    for (const entry of entries.slice(0, maxEntries)) {
      await copyOut(sandbox, join('compiled', name, entry), join(folder, 'files', entry));
    }
    this.#filled.set(runtime.id, { folder, name: name.replace(/-\d+$/, '') });
  }

  /** The folder that scripts of a runtime can use in a sandbox; undefined where there is none. */
  async folderFor(runtime: Runtime, sandbox: Sandbox): Promise<string | undefined> {
    const filled = this.#filled.get(runtime.id);
    if (!filled) return undefined;
    const { uid } = await stat(sandbox.directory);
    const link = join(filled.folder, `${filled.name}-${uid}`);
    if (!this.#linked.has(link)) {
      await symlink('files', link).catch((error: unknown) => {
        if (errorCodeOf(error) !== 'EEXIST') throw error;
      });
      this.#linked.add(link);
    }
    return filled.folder;
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function folderIn(directory: string): Promise<string | undefined> {
  try {
    if (!(await lstat(directory)).isDirectory()) return undefined;
    const [name, ...others] = await readdir(directory);
    return others.length === 0 ? name : undefined;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function makeReadable(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}

async function copyOut(sandbox: Sandbox, from: string, to: string): Promise<void> {
  const source = await sandbox.open(from);
  try {
    if ((await source.stat()).size > maxEntryBytes) return;
    const bytes = await source.readFile();
    await writeFile(to, bytes, { mode: 0o644 });
    await chmod(to, 0o644);
  } finally {
    await source.close();
  }
}

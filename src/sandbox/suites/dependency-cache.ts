import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { z } from 'zod';
import type { AdoptionJob, AdoptionResult, DependencyLink } from './adopt-worker.ts';

/** Installed dependencies that suites link to; kept until the last user releases them. */
export interface CachedDependencies {
  readonly directory: string;
  /** Links by which the suite finds them. */
  readonly links: readonly DependencyLink[];
  release(): void;
}

/** Use of the cache since it was opened, and its size. */
export interface DependencyUsage {
  /** Runs that linked to kept dependencies. */
  readonly hitCount: number;
  /** Runs that had to install. */
  readonly missCount: number;
  readonly sizeBytes: number;
}

/** Why dependencies are not kept. */
export interface RefusedDependencies {
  readonly refused: string;
}

interface Entry {
  readonly name: string;
  readonly sizeBytes: number;
  readonly usedAtMs: number;
}

const factsName = '.picket.json';
const Facts = z.object({
  links: z.array(z.object({ path: z.string(), target: z.string().optional() })),
  sizeBytes: z.number(),
  refused: z.string().optional(),
});
/** Size on disk of a folder without packages. */
const refusalBytes = 4096;
const temporaryPrefix = 'new-';

/** The cache key of an installation, from everything that determines it. */
export function dependencyKey(parts: Readonly<Record<string, string | null>>): string {
  const sorted = Object.entries(parts).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

/**
 * Caches the dependencies of suites for later runs, one folder per key. A folder is filled under another name and
 * renamed, so that an existing one is complete; suites can read but not change it. Above the size limit, the least
 * recently used folders are removed, except those in use.
 *
 * The directory belongs to one agent.
 */
export class DependencyCache {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #users = new Map<string, number>();
  #hitCount = 0;
  #missCount = 0;
  #sizeBytes = 0;

  private constructor(directory: string, maxBytes: number) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
  }

  /** Opens the directory; removes incomplete folders of a dead agent, and those without metadata. */
  static async open(directory: string, maxBytes: number): Promise<DependencyCache> {
    await mkdir(directory, { recursive: true, mode: 0o711 });
    for (const name of await readdir(directory)) {
      const isWhole = !name.startsWith(temporaryPrefix) && (await hasFacts(join(directory, name)));
      if (!isWhole) await rm(join(directory, name), { recursive: true, force: true });
    }
    const cache = new DependencyCache(directory, maxBytes);
    await cache.#makeRoom();
    return cache;
  }

  get usage(): DependencyUsage {
    return { hitCount: this.#hitCount, missCount: this.#missCount, sizeBytes: this.#sizeBytes };
  }

  /** Path of the cache; scripts must be able to read it. */
  get directory(): string {
    return this.#directory;
  }

  /** @returns the dependencies, or why those of that key were refused; undefined if the key is new. */
  async find(key: string): Promise<CachedDependencies | RefusedDependencies | undefined> {
    const directory = join(this.#directory, key);
    this.#hold(key);
    try {
      const { links, refused } = await readFacts(directory);
      const now = new Date();
      await utimes(join(directory, factsName), now, now);
      if (refused === undefined) {
        this.#hitCount += 1;
        return { directory, links, release: this.#releaser(key) };
      }
      this.#letGo(key);
      return { refused };
    } catch (thrown) {
      this.#letGo(key);
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
      this.#missCount += 1;
      return undefined;
    }
  }

  /**
   * Takes over the dependencies installed below a suite's folder. No process of the suite may be alive.
   *
   * @param options.ownerUid required owner of all files; any other owner rejects the whole tree.
   * @param options.isShared they are for several suites: if they are refused, the key is from then on.
   * @param options.refusesScripts scripts of packages did not run, and would have in an installation of the suite alone.
   * @returns the dependencies, or a reason if they cannot be cached; they are then still in place.
   */
  async add(
    key: string,
    options: {
      readonly suiteDirectory: string;
      readonly ownerUid: number;
      readonly isShared: boolean;
      readonly refusesScripts: boolean;
    },
  ): Promise<CachedDependencies | RefusedDependencies> {
    const fresh = join(this.#directory, `${temporaryPrefix}${randomUUID()}`);
    const { isShared, ...job } = options;
    const adopted = await adopt({ ...job, destination: fresh });
    if ('refused' in adopted) {
      await rm(fresh, { recursive: true, force: true });
      if (!isShared) return adopted;
      await mkdir(fresh, { mode: 0o755 });
    }
    const facts = 'refused' in adopted ? { links: [], sizeBytes: refusalBytes, ...adopted } : adopted;
    await writeFile(join(fresh, factsName), JSON.stringify(facts));
    const directory = join(this.#directory, key);
    this.#hold(key);
    try {
      await rename(fresh, directory);
    } catch (thrown) {
      this.#letGo(key);
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown;
      // Another run of the same suite was faster: its copy is equivalent.
      await rm(fresh, { recursive: true, force: true });
      return (await this.find(key)) ?? { refused: 'it was removed in between' };
    }
    await this.#makeRoom();
    if (!('refused' in adopted)) return { directory, links: facts.links, release: this.#releaser(key) };
    this.#letGo(key);
    return adopted;
  }

  async #makeRoom(): Promise<void> {
    const entries: Entry[] = [];
    for (const name of await readdir(this.#directory)) {
      if (name.startsWith(temporaryPrefix)) continue;
      const directory = join(this.#directory, name);
      const { sizeBytes } = await readFacts(directory);
      entries.push({ name, sizeBytes, usedAtMs: (await stat(join(directory, factsName))).mtimeMs });
    }
    this.#sizeBytes = entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    for (const entry of entries.sort((one, other) => one.usedAtMs - other.usedAtMs)) {
      if (this.#sizeBytes <= this.#maxBytes) return;
      if (this.#users.has(entry.name)) continue;
      this.#sizeBytes -= entry.sizeBytes;
      // The rename removes it from the cache, however long the deletion takes.
      const leaving = join(this.#directory, `${temporaryPrefix}${randomUUID()}`);
      await rename(join(this.#directory, entry.name), leaving);
      await rm(leaving, { recursive: true, force: true });
    }
  }

  #hold(key: string): void {
    this.#users.set(key, (this.#users.get(key) ?? 0) + 1);
  }

  #letGo(key: string): void {
    const left = (this.#users.get(key) ?? 1) - 1;
    if (left === 0) this.#users.delete(key);
    else this.#users.set(key, left);
  }

  #releaser(key: string): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#letGo(key);
    };
  }
}

async function readFacts(directory: string): Promise<z.output<typeof Facts>> {
  return Facts.parse(JSON.parse(await readFile(join(directory, factsName), 'utf8')));
}

async function hasFacts(directory: string): Promise<boolean> {
  return readFacts(directory).then(
    () => true,
    () => false,
  );
}

/** Tens of thousands of files: runs in a thread of its own. */
async function adopt(job: AdoptionJob): Promise<AdoptionResult> {
  const worker = new Worker(new URL(`./adopt-worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: job,
    env: ownThreadEnvironment,
  });
  return await new Promise<AdoptionResult>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that keeps dependencies ended with ${code}`)));
  });
}

import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';

export interface AdoptionJob {
  /** The folder of an installed suite. */
  readonly suiteDirectory: string;
  readonly ownerUid: number;
  /** Destination for its node_modules; does not exist yet. */
  readonly destination: string;
}

export type AdoptionResult =
  | { readonly folders: readonly string[]; readonly sizeBytes: number }
  | { readonly refused: string };

const modules = 'node_modules';
const maxDepth = 6;
const maxEntries = 500_000;

/**
 * Moves the node_modules of a suite to a place of the agent and makes them the agent's, readable for all. The
 * installation ran code of the customer, which may have left anything: before any file changes owner and mode, each one
 * must belong to the suite, with a single name, and every link must stay within the moved tree.
 */
function adopt({ suiteDirectory, ownerUid, destination }: AdoptionJob): AdoptionResult {
  // The installation may have replaced the suite by a link, whose target must not be moved.
  if (!isInPlace(suiteDirectory)) return { refused: 'the folder of the suite was replaced' };
  const folders = findModules(suiteDirectory, '', 0);
  if (folders.length === 0) return { refused: 'nothing was installed' };
  const paths: string[] = [];
  let sizeBytes = 0;
  const check = (relative: string): string | undefined => {
    const place = join(suiteDirectory, relative);
    const found = lstatSync(place);
    if (found.uid !== ownerUid) return `${relative} belongs to another user`;
    paths.push(relative);
    if (paths.length > maxEntries) return `there are more than ${maxEntries} files`;
    if (found.isDirectory()) {
      for (const name of readdirSync(place)) {
        const problem = check(join(relative, name));
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    if (found.isSymbolicLink()) return linkProblem(relative, readlinkSync(place), folders);
    if (!found.isFile()) return `${relative} is not a regular file`;
    sizeBytes += found.size;
    return found.nlink === 1 ? undefined : `${relative} has several names (hard links)`;
  };
  for (const folder of folders) {
    const problem = check(folder);
    if (problem !== undefined) return { refused: problem };
  }
  mkdirSync(destination, { mode: 0o755 });
  for (const folder of folders) {
    const place = join(destination, folder);
    mkdirSync(dirname(place), { recursive: true, mode: 0o755 });
    move(join(suiteDirectory, folder), place);
  }
  for (const relative of paths) own(join(destination, relative));
  return { folders, sizeBytes };
}

function isInPlace(directory: string): boolean {
  const expected = join(realpathSync(dirname(directory)), basename(directory));
  return lstatSync(directory).isDirectory() && realpathSync(directory) === expected;
}

/** The outermost node_modules folders, relative to the suite. */
function findModules(root: string, folder: string, depth: number): string[] {
  if (depth > maxDepth) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [];
    const path = join(folder, entry.name);
    return entry.name === modules ? [path] : findModules(root, path, depth + 1);
  });
}

function linkProblem(relative: string, target: string, folders: readonly string[]): string | undefined {
  const end = normalize(join(dirname(relative), target));
  const isInside = folders.some((folder) => end.startsWith(folder + sep));
  if (!isAbsolute(target) && isInside) return undefined;
  return `${relative} leads out of ${modules}, as the packages of a workspace do`;
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EXDEV') throw thrown;
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    rmSync(from, { recursive: true, force: true });
  }
}

function own(path: string): void {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const found = lstatSync(path);
  if (found.isSymbolicLink()) {
    lchownSync(path, uid, gid);
    return;
  }
  chownSync(path, uid, gid);
  chmodSync(path, found.isDirectory() || (found.mode & 0o100) !== 0 ? 0o755 : 0o644);
}

if (!isMainThread) parentPort?.postMessage(adopt(workerData as AdoptionJob));

import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';

export interface AdoptionJob {
  /** The folder of an installed suite. */
  readonly suiteDirectory: string;
  readonly ownerUid: number;
  /** Destination for its node_modules; does not exist yet. */
  readonly destination: string;
  /** Scripts of packages did not run, and would have: packages that have some are refused. */
  readonly refusesScripts: boolean;
}

/** A link that a suite needs to find the kept packages. */
export interface DependencyLink {
  /** Its path in the suite, and that of its target among the kept packages. */
  readonly path: string;
  /** Another target, such as a package of the workspace. */
  readonly target?: string | undefined;
}

export type AdoptionResult =
  | { readonly links: readonly DependencyLink[]; readonly sizeBytes: number }
  | { readonly refused: string };

const modules = 'node_modules';
const maxDepth = 6;
const maxEntries = 500_000;

/**
 * Moves the node_modules of a suite to a place of the agent and makes them the agent's, readable for all. The
 * installation may have run code of the customer, which may have left anything: before any file changes owner and mode,
 * each one must belong to the suite, with a single name, and every link must stay within the moved tree. Links to
 * packages of a workspace are not moved: each suite gets its own.
 */
function adopt({ suiteDirectory, ownerUid, destination, refusesScripts }: AdoptionJob): AdoptionResult {
  // The installation may have replaced the suite by a link, whose target must not be moved.
  if (!isInPlace(suiteDirectory)) return { refused: 'the folder of the suite was replaced' };
  const folders = findModules(suiteDirectory, '', 0);
  if (folders.length === 0) return { refused: 'nothing was installed' };
  const tree = new InstalledTree(suiteDirectory, folders, ownerUid);
  const problem = tree.read() ?? packagesProblem(tree, refusesScripts);
  if (problem !== undefined) return { refused: problem };
  mkdirSync(destination, { mode: 0o755 });
  for (const folder of folders) {
    const place = join(destination, folder);
    mkdirSync(dirname(place), { recursive: true, mode: 0o755 });
    move(join(suiteDirectory, folder), place);
  }
  for (const path of [...tree.workspaceLinks.keys(), ...tree.unusedLinks])
    unlinkSync(join(destination, path));
  for (const relative of tree.paths) own(join(destination, relative));
  return { links: linksOf(destination, folders, tree.workspaceLinks), sizeBytes: tree.sizeBytes };
}

/** The installed files, as they lie in the suite. */
class InstalledTree {
  readonly directory: string;
  readonly paths: string[] = [];
  sizeBytes = 0;
  /** Links next to the packages that lead to a folder of the suite: path and target. */
  readonly workspaceLinks = new Map<string, string>();
  /** Links to packages of the workspace that serve only packages which name none of them. */
  readonly unusedLinks: string[] = [];
  readonly #folders: readonly string[];
  readonly #ownerUid: number;

  constructor(directory: string, folders: readonly string[], ownerUid: number) {
    this.directory = directory;
    this.#folders = folders;
    this.#ownerUid = ownerUid;
  }

  /** @returns why it cannot be kept. */
  read(): string | undefined {
    for (const folder of this.#folders) {
      const problem = this.#check(folder);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #check(relative: string): string | undefined {
    const place = join(this.directory, relative);
    const found = lstatSync(place);
    if (found.uid !== this.#ownerUid) return `${relative} belongs to another user`;
    if (found.isSymbolicLink()) return this.#checkLink(relative, readlinkSync(place));
    this.paths.push(relative);
    if (this.paths.length > maxEntries) return `there are more than ${maxEntries} files`;
    if (found.isDirectory()) {
      for (const name of readdirSync(place)) {
        const problem = this.#check(join(relative, name));
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    if (!found.isFile()) return `${relative} is not a regular file`;
    this.sizeBytes += found.size;
    return found.nlink === 1 ? undefined : `${relative} has several names (hard links)`;
  }

  #checkLink(relative: string, target: string): string | undefined {
    const end = normalize(join(dirname(relative), target));
    const leadsOut = `${relative} leads out of ${modules}`;
    if (isAbsolute(target) || end.startsWith('..')) return leadsOut;
    if (this.#folders.some((folder) => end.startsWith(folder + sep))) this.paths.push(relative);
    else if (relative.includes(`/.pnpm/${modules}/`)) this.unusedLinks.push(relative);
    else if (this.#folders.some((folder) => isPackagePath(pathBelow(folder, relative)))) {
      this.workspaceLinks.set(relative, target);
    } else return leadsOut;
    return undefined;
  }
}

function pathBelow(folder: string, path: string): string {
  return path.startsWith(folder + sep) ? path.slice(folder.length + 1) : '';
}

/** Whether it is the name of a package, such as `a` or `@b/c`, without anything below. */
function isPackagePath(path: string): boolean {
  return /^(?:[^@./][^/]*|@[^/]+\/[^/]+)$/.test(path);
}

/** Why the packages need more than their own files. */
function packagesProblem(tree: InstalledTree, refusesScripts: boolean): string | undefined {
  const workspace = new Set([...tree.workspaceLinks.keys()].map(packageNameOf));
  if (!refusesScripts && workspace.size === 0) return undefined;
  for (const path of tree.paths) {
    const folder = dirname(path);
    if (!isPackagePath(folder.slice(folder.lastIndexOf(`${modules}/`) + modules.length + 1))) continue;
    if (refusesScripts && basename(path) === 'binding.gyp') return hasScript(folder, path);
    if (basename(path) !== 'package.json') continue;
    const manifest = readManifest(join(tree.directory, path));
    const script = ['preinstall', 'install', 'postinstall'].find((name) => name in manifest.scripts);
    if (refusesScripts && script !== undefined) return hasScript(folder, script);
    const needed = manifest.needed.find((name) => workspace.has(name));
    if (needed !== undefined) return `the package ${packageNameOf(folder)} needs ${needed} of the workspace`;
  }
  return undefined;
}

function hasScript(folder: string, script: string): string {
  return `the package ${packageNameOf(folder)} has a script that runs while installing (${basename(script)})`;
}

function packageNameOf(path: string): string {
  return path.slice(path.lastIndexOf(`${modules}/`) + modules.length + 1);
}

const Manifest = z.object({
  scripts: z.record(z.string(), z.unknown()).catch({}),
  dependencies: z.record(z.string(), z.unknown()).catch({}),
  optionalDependencies: z.record(z.string(), z.unknown()).catch({}),
  peerDependencies: z.record(z.string(), z.unknown()).catch({}),
});

/** A manifest that is no JSON object, as some packages have among their tests, names nothing. */
function readManifest(file: string) {
  const manifest = Manifest.safeParse(parsed(readFileSync(file, 'utf8'))).data;
  const { scripts = {}, dependencies, optionalDependencies, peerDependencies } = manifest ?? {};
  return { scripts, needed: Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/**
 * A folder without packages of the workspace is one link. In others each package is a link of its own, next to those of
 * the workspace; commands too, which find their packages next to them.
 */
function linksOf(
  directory: string,
  folders: readonly string[],
  workspaceLinks: ReadonlyMap<string, string>,
): DependencyLink[] {
  const isMixed = (folder: string) =>
    [...workspaceLinks.keys()].some((path) => path.startsWith(folder + sep));
  const below = (folder: string): DependencyLink[] => {
    const isCommands = basename(folder) === '.bin';
    if (!isCommands && !isMixed(folder)) return [{ path: folder }];
    return readdirSync(join(directory, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (isCommands) {
        return entry.isSymbolicLink() ? [{ path, target: readlinkSync(join(directory, path)) }] : [{ path }];
      }
      return entry.isDirectory() && (entry.name === '.bin' || entry.name.startsWith('@'))
        ? below(path)
        : [{ path }];
    });
  };
  return [...folders.flatMap(below), ...[...workspaceLinks].map(([path, target]) => ({ path, target }))];
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

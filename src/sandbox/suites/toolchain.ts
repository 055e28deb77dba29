import semver from 'semver';
import { z } from 'zod';
import {
  type InstalledManager,
  type InstalledNode,
  type ManagerName,
  managerNames,
  type PackageManagers,
} from './package-managers.ts';

/** Versions that a suite needs, by its manifest and lockfile. */
export const SuiteWishes = z.object({
  /** As in package.json, such as `pnpm@9.15.0+sha512.…`. */
  packageManager: z.string().nullable(),
  /** Ranges by program. */
  engines: z.record(z.string(), z.string()),
  /** The format of the lockfile, as it names it. */
  lockfileVersion: z.string().nullable(),
});
export type SuiteWishes = z.output<typeof SuiteWishes>;

/** The programs of one run of a suite. */
export interface Toolchain {
  readonly node: InstalledNode;
  /** The manager of the lockfile; undefined if no version of it is installed here, or without a lockfile. */
  readonly manager: InstalledManager | undefined;
  /** By the name that suites use. */
  readonly programs: readonly { readonly name: string; readonly command: readonly string[] }[];
  /** Wishes that this host does not meet, as sentences. */
  readonly unmet: readonly string[];
}

/**
 * Chooses the versions of Node and of the package manager for a suite.
 *
 * @param wanted.engineVersion the check's own wish for Node, such as `22`; it goes before that of the manifest.
 * @param host.nodes the first is for suites without a wish.
 */
export function chooseToolchain(
  wanted: {
    readonly manager: ManagerName | null;
    readonly wishes: SuiteWishes;
    readonly engine: 'node' | 'bun';
    readonly engineVersion: string | null;
  },
  host: {
    readonly packageManagers: PackageManagers;
    readonly nodes: readonly [InstalledNode, ...InstalledNode[]];
  },
): Toolchain {
  const unmet: string[] = [];
  const { installed } = host.packageManagers;
  const node = chooseNode(wanted, host.nodes, unmet);
  const of = (name: ManagerName) => installed.filter(({ manager }) => manager === name);
  const manager =
    wanted.manager === null ? undefined : chooseManager(wanted.manager, of, wanted.wishes, unmet);
  const others = managerNames
    .filter(
      (name) => name !== wanted.manager && !(name.startsWith('yarn') && wanted.manager?.startsWith('yarn')),
    )
    // Without a lockfile of its own, yarn is the newest.
    .filter((name) => name !== 'yarn1')
    .flatMap((name) => of(name)[0] ?? []);
  const programs = [...(manager ? [manager] : []), ...others].flatMap((one) => commandsOf(one, node));
  const bun = programs.find(({ name }) => name === 'bun');
  // With the Bun engine, Bun also runs programs whose shebang names Node.
  const npx =
    wanted.engine === 'bun' && bun ? [{ name: 'npx', command: [...bun.command, 'x', '--bun'] }] : [];
  return {
    node,
    manager,
    programs: [
      { name: 'node', command: [node.path] },
      ...programs.filter(({ name }) => npx[0]?.name !== name),
      ...npx,
    ],
    unmet,
  };
}

function commandsOf({ programs }: InstalledManager, node: InstalledNode) {
  return programs.map(({ name, path, args = [], isScript }) => ({
    name,
    command: [...(isScript ? [node.path] : []), path, ...args],
  }));
}

function chooseNode(
  { wishes, engine, engineVersion }: Parameters<typeof chooseToolchain>[0],
  nodes: readonly [InstalledNode, ...InstalledNode[]],
  unmet: string[],
): InstalledNode {
  const wish = (engine === 'node' ? engineVersion : null) ?? wishes.engines.node;
  if (wish === undefined || wish === null) return nodes[0];
  const found = satisfying(nodes, wish) ?? ofMajor(nodes, wish);
  if (found) return found;
  unmet.push(`The suite wants Node ${wish}; this agent has ${listed(nodes)}: ${nodes[0].version} is used`);
  return nodes[0];
}

function chooseManager(
  name: ManagerName,
  of: (name: ManagerName) => readonly InstalledManager[],
  { packageManager, engines, lockfileVersion }: SuiteWishes,
  unmet: string[],
): InstalledManager | undefined {
  const versions = of(name);
  const [usual] = versions;
  if (!usual) return undefined;
  const title = name.replace(/\d$/, '');
  const pinned = new RegExp(`^${title}@(\\d+\\.\\d+\\.\\d+)`).exec(packageManager ?? '')?.[1];
  const wish = pinned ?? engines[title];
  if (wish === undefined)
    return ofLockfile(name, versions, Number.parseFloat(lockfileVersion ?? '')) ?? usual;
  const found = satisfying(versions, wish) ?? ofMajor(versions, wish);
  if (found) return found;
  const nearest = newerThan(versions, wish) ?? usual;
  unmet.push(
    `The suite wants ${title} ${wish}; this agent has ${listed(versions)}: ${nearest.version} is used`,
  );
  return nearest;
}

/** The version whose format the lockfile has; undefined if the usual one can read it. */
function ofLockfile(
  name: ManagerName,
  versions: readonly InstalledManager[],
  format: number,
): InstalledManager | undefined {
  if (name === 'pnpm' && format < 9) return ofMajor(versions, '8');
  return name === 'yarn4' && format < 8 ? ofMajor(versions, '3') : undefined;
}

interface Versioned {
  readonly version: string;
}

/** The first of the versions, as that is for suites without a wish. */
function satisfying<Kind extends Versioned>(versions: readonly Kind[], range: string): Kind | undefined {
  return versions.find(({ version }) => semver.satisfies(version, range));
}

/** A pinned version is met by any of its major version: agents have one of each. */
function ofMajor<Kind extends Versioned>(versions: readonly Kind[], range: string): Kind | undefined {
  const major = majorOf(range);
  return versions.find(({ version }) => semver.major(version) === major);
}

/** The oldest that is newer, else the newest of all. */
function newerThan<Kind extends Versioned>(versions: readonly Kind[], range: string): Kind | undefined {
  const ordered = [...versions].sort((one, other) => semver.compare(one.version, other.version));
  const major = majorOf(range);
  if (major === undefined) return undefined;
  return ordered.find(({ version }) => semver.major(version) > major) ?? ordered.at(-1);
}

function majorOf(range: string): number | undefined {
  const valid = semver.validRange(range);
  return valid === null ? undefined : semver.minVersion(valid)?.major;
}

function listed(versions: readonly Versioned[]): string {
  return versions.map(({ version }) => version).join(', ');
}

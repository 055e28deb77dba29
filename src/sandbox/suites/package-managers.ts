import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** Yarn appears twice: the lockfiles of version 1 and of later ones have different formats. */
export const managerNames = ['npm', 'pnpm', 'yarn1', 'yarn4', 'bun'] as const;
export type ManagerName = (typeof managerNames)[number];

/** A program of a manager, by the name that suites use. */
interface ManagerProgram {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly args?: readonly string[] | undefined;
  /** Node runs it. */
  readonly isScript: boolean;
}

/** A version of a package manager on this host. */
export interface InstalledManager {
  readonly manager: ManagerName;
  readonly version: string;
  readonly programs: readonly ManagerProgram[];
}

/** The package managers installed on this host (`npm run runtimes:install package-managers`). */
export interface PackageManagers {
  /** Their folder; scripts must be able to read it. */
  readonly directory: string;
  /** All versions; of each manager, that for suites without a wish comes first. */
  readonly installed: readonly InstalledManager[];
}

const isArm = process.arch === 'arm64';
const script = (name: string, path: string) => ({ name, path, isScript: true });
const npmPrograms = [script('npm', 'bin/npm-cli.js'), script('npx', 'bin/npx-cli.js')];
const pnpmPrograms = [script('pnpm', 'bin/pnpm.cjs'), script('pnpx', 'bin/pnpx.cjs')];
const yarnPrograms = [script('yarn', 'bin/yarn.js')];
const nativePnpm = [
  { name: 'pnpm', path: 'pnpm', isScript: false },
  { name: 'pnpx', path: 'pnpm', args: ['dlx'], isScript: false },
];
const bunPrograms = [
  { name: 'bun', path: 'bin/bun', isScript: false },
  { name: 'bunx', path: 'bin/bun', args: ['x'], isScript: false },
];

const packages: readonly (readonly [ManagerName, folder: string, readonly ManagerProgram[]])[] = [
  ['npm', 'npm', npmPrograms],
  ['npm', 'npm10', npmPrograms],
  ['pnpm', 'pnpm', pnpmPrograms],
  ['pnpm', 'pnpm9', pnpmPrograms],
  ['pnpm', 'pnpm8', pnpmPrograms],
  ['pnpm', `@pnpm/exe.linux-${isArm ? 'arm64' : 'x64'}`, nativePnpm],
  ['yarn1', 'yarn1', yarnPrograms],
  ['yarn4', 'yarn4', yarnPrograms],
  ['yarn4', 'yarn3', yarnPrograms],
  ['bun', `@oven/bun-linux-${isArm ? 'aarch64' : 'x64'}`, bunPrograms],
];

/** Finds the package managers below the folder of the runtimes. */
export async function readPackageManagers(runtimesDirectory: string): Promise<PackageManagers> {
  const directory = await realPathOf(join(runtimesDirectory, 'package-managers/node_modules'));
  const found = packages.map(async ([manager, folder, programs]): Promise<InstalledManager[]> => {
    const version = await versionOf(join(directory, folder));
    const absolute = programs.map((one) => ({ ...one, path: join(directory, folder, one.path) }));
    return version === undefined ? [] : [{ manager, version, programs: absolute }];
  });
  return { directory, installed: (await Promise.all(found)).flat() };
}

/** A version of Node on this host, accessible to suites. */
export interface InstalledNode {
  readonly version: string;
  /** Absolute path of the executable. */
  readonly path: string;
}

/** Finds the versions of Node below the folder of the runtimes, such as `npm run runtimes:install node-22`. */
export async function readNodes(runtimesDirectory: string): Promise<readonly InstalledNode[]> {
  const found = ['node-22'].map(async (id): Promise<InstalledNode[]> => {
    const folder = `node_modules/node-linux-${isArm ? 'arm64' : 'x64'}`;
    const directory = await realPathOf(join(runtimesDirectory, id, folder));
    const version = await versionOf(directory);
    return version === undefined ? [] : [{ version, path: join(directory, 'bin/node') }];
  });
  return (await Promise.all(found)).flat();
}

async function realPathOf(directory: string): Promise<string> {
  return await realpath(directory).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return directory;
    throw thrown;
  });
}

async function versionOf(directory: string): Promise<string | undefined> {
  try {
    return String(JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')).version);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/**
 * Returns the command that installs exactly the lockfile, and fails if it does not match the manifests.
 *
 * Files are copied, not linked from a store: cached files must have a single name.
 */
export function installCommandOf(manager: ManagerName): string {
  switch (manager) {
    case 'npm':
      return 'npm ci --no-audit --no-fund';
    case 'pnpm':
      return 'pnpm install --frozen-lockfile --package-import-method=copy';
    case 'yarn1':
      return 'yarn install --frozen-lockfile --non-interactive';
    case 'yarn4':
      return 'yarn install --immutable';
    case 'bun':
      return 'bun install --frozen-lockfile --backend=copyfile';
  }
}

/** Returns the same command without the scripts of packages, for an installation that several suites use. */
export function sharedCommandOf(manager: ManagerName): string {
  const withoutScripts = manager === 'yarn4' ? '--mode=skip-build' : '--ignore-scripts';
  return `${installCommandOf(manager)} ${withoutScripts}`;
}

/** Settings for every installation. A manager warns about settings of others. */
export function managerEnvironment(manager: ManagerName | null): Record<string, string> {
  return {
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    npm_config_update_notifier: 'false',
    // Without it Yarn would not create node_modules.
    YARN_NODE_LINKER: 'node-modules',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_IGNORE_PATH: '1',
    ...(manager === 'pnpm' ? pnpmSettings : {}),
  };
}

const pnpmSettings = {
  // Always run a version installed here: no suite downloads another one for packageManager in its package.json.
  npm_config_manage_package_manager_versions: 'false',
  npm_config_package_import_method: 'copy',
  // Commands would contain the folder of their installation.
  npm_config_extend_node_path: 'false',
  // The same for pnpm 11 and later; a run does not install again what it links to.
  pnpm_config_pm_on_fail: 'ignore',
  pnpm_config_manage_package_manager_versions: 'false',
  pnpm_config_package_import_method: 'copy',
  pnpm_config_extend_node_path: 'false',
  pnpm_config_verify_deps_before_run: 'false',
} as const;

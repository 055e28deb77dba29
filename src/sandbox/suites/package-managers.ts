import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** Yarn appears twice: the lockfiles of version 1 and of later ones have different formats. */
export const managerNames = ['npm', 'pnpm', 'yarn1', 'yarn4', 'bun'] as const;
export type ManagerName = (typeof managerNames)[number];

/** A program name that suites use, and its command. */
export interface SuiteProgram {
  readonly name: string;
  readonly command: readonly string[];
  /** The program has this name only for suites with a lockfile of that manager. */
  readonly only?: ManagerName;
}

/** The package managers installed on this host (`npm run runtimes:install package-managers`). */
export interface PackageManagers {
  /** Their folder; scripts must be able to read it. */
  readonly directory: string;
  /** Versions of the installed ones. */
  readonly versions: ReadonlyMap<ManagerName, string>;
  /**
   * Node itself and all programs of the managers.
   *
   * @param nodePath the Node executable for suites.
   */
  programs(engine: 'node' | 'bun', nodePath: string): SuiteProgram[];
}

const bunPackage = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`;

const packages: Readonly<Record<ManagerName, string>> = {
  npm: 'npm',
  pnpm: 'pnpm',
  yarn1: 'yarn1',
  yarn4: 'yarn4',
  bun: bunPackage,
};

/** Finds the package managers below the folder of the runtimes. */
export async function readPackageManagers(runtimesDirectory: string): Promise<PackageManagers> {
  const wanted = join(runtimesDirectory, 'package-managers/node_modules');
  const directory = await realpath(wanted).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return wanted;
    throw thrown;
  });
  const versions = new Map<ManagerName, string>();
  for (const name of managerNames) {
    const version = await versionOf(join(directory, packages[name]));
    if (version !== undefined) versions.set(name, version);
  }
  return { directory, versions, programs: (engine, nodePath) => programs(directory, nodePath, engine) };
}

async function versionOf(directory: string): Promise<string | undefined> {
  try {
    return String(JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')).version);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

function programs(directory: string, nodePath: string, engine: 'node' | 'bun'): SuiteProgram[] {
  const script = (path: string) => [nodePath, join(directory, path)];
  const bun = join(directory, bunPackage, 'bin/bun');
  return [
    { name: 'node', command: [nodePath] },
    { name: 'npm', command: script('npm/bin/npm-cli.js') },
    // With the Bun engine, Bun also runs programs whose shebang names Node.
    { name: 'npx', command: engine === 'bun' ? [bun, 'x', '--bun'] : script('npm/bin/npx-cli.js') },
    { name: 'pnpm', command: script('pnpm/bin/pnpm.cjs') },
    { name: 'pnpx', command: script('pnpm/bin/pnpx.cjs') },
    { name: 'yarn', command: script('yarn1/bin/yarn.js'), only: 'yarn1' },
    { name: 'yarn', command: script('yarn4/bin/yarn.js'), only: 'yarn4' },
    { name: 'bun', command: [bun] },
    { name: 'bunx', command: [bun, 'x'] },
  ];
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
  // Always run the version installed here, whatever packageManager in package.json says.
  npm_config_manage_package_manager_versions: 'false',
  npm_config_package_import_method: 'copy',
  // Commands would contain the folder of their installation.
  npm_config_extend_node_path: 'false',
} as const;

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../sandbox.ts';
import { type CachedDependencies, dependencyKey } from './dependency-cache.ts';
import { installCommandOf, type ManagerName, sharedCommandOf } from './package-managers.ts';
import { runStep, sharedFolder, stepEnvironment } from './step.ts';
import {
  type InstallReport,
  type SuiteJob,
  type SuiteReport,
  suiteFolder,
  type TestReport,
} from './suite-job.ts';
import type { Toolchain } from './toolchain.ts';
import type { UnpackedBundle } from './unpack.ts';

interface Installed {
  readonly report: InstallReport;
  /** Linked dependencies; to be released after the run. */
  readonly dependencies?: CachedDependencies | undefined;
}

/** Variables that configure package managers and Node's certificates. */
const settingNames = [
  /^(npm|yarn|pnpm|bun)_/i,
  /^(https?|no|all)_proxy$/i,
  /^(NODE_AUTH_TOKEN|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|SSL_CERT_FILE|SSL_CERT_DIR)$/,
];

/**
 * Installs the dependencies of a suite, or links to those of an earlier run.
 *
 * Where lockfile, manifests and settings alone decide what is installed, that run may be of any suite that has the same
 * ones: its installation saw these files only, before any code of a suite ran, and ran no script of a package.
 * Otherwise it was a run with identical inputs: every file of the suite, the command, and the variables visible to the
 * installation. So a run never links to anything that another suite or check introduced.
 */
export async function installDependencies(
  sandbox: Sandbox,
  job: SuiteJob,
  unpacked: UnpackedBundle & { readonly toolchain: Toolchain },
): Promise<Installed | Exclude<SuiteReport, TestReport>> {
  const { manager, installDirectory, contentHash, hasModules, sharing, toolchain } = unpacked;
  const command = job.installCommand ?? (manager === null ? null : installCommandOf(manager));
  if (command === null || (hasModules && job.installCommand === null)) {
    const report = { manager, source: 'none', durationMs: 0 } as const;
    if (hasModules) return { report };
    const problem =
      'The bundle has no lockfile (package-lock.json, pnpm-lock.yaml, yarn.lock, bun.lock) and the check no installCommand';
    return { stage: 'no-lockfile', problem };
  }
  if (manager !== null && !toolchain.manager) {
    const problem =
      `The bundle has a lockfile of ${manager}, which is not installed on this agent; ` +
      'npm run runtimes:install package-managers installs it';
    return { stage: 'no-manager', problem };
  }
  const common = {
    proxyUrl: job.proxyUrl,
    engine: job.engine,
    cacheHash: job.cacheHash,
    manager: manager === null ? null : `${manager} ${toolchain.manager?.version}`,
    platform: `${process.platform} ${process.arch} ${toolchain.node.version}`,
  };
  const attempt = { sandbox, job, manager, installDirectory, startedMs: performance.now() };
  let unshared = 'problem' in sharing ? sharing.problem : undefined;
  if (job.installCommand !== null) unshared = 'the check has an installCommand';
  if (manager !== null && 'hash' in sharing && unshared === undefined) {
    const variables = pick(job.variables, (name) => sharing.variableNames.includes(name));
    const shared = await provide({
      ...attempt,
      key: keyOf({ ...common, shared: sharing.hash, installDirectory }, variables),
      command: sharedCommandOf(manager),
      variables,
      isShared: true,
      // pnpm 10 runs the scripts of no package that is not named; later ones fail instead of leaving them out.
      refusesScripts: !(
        manager === 'pnpm' &&
        toolchain.manager?.version.startsWith('10.') &&
        !sharing.allowsScripts
      ),
    });
    if ('report' in shared) return shared;
    // With a command that fails here, its own installation decides: its messages are about the files of the suite.
    if ('ended' in shared && shared.ended.reason !== 'exited') return shared;
    unshared = 'refused' in shared ? shared.refused : 'an installation without its other files failed';
  }
  job.onStage(`The installed packages are for this bundle only: ${unshared}`);
  const named = [...unpacked.namedVariables, ...variablesIn(command)];
  const variables = pick(job.variables, (name) => isInstallVariable(name, named));
  const { workingDirectory, installCommand } = { ...job, installCommand: command };
  const own = await provide({
    ...attempt,
    key: keyOf({ ...common, content: contentHash, installCommand, workingDirectory }, variables),
    command,
    variables,
    isShared: false,
    refusesScripts: false,
  });
  if (!('refused' in own)) return own;
  job.onStage(`The dependencies are not kept for later runs: ${own.refused}`);
  return { report: { manager, source: 'installed', durationMs: own.durationMs } };
}

interface Order {
  readonly sandbox: Sandbox;
  readonly job: SuiteJob;
  readonly manager: ManagerName | null;
  readonly installDirectory: string;
  readonly startedMs: number;
  readonly key: string;
  readonly command: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly isShared: boolean;
  readonly refusesScripts: boolean;
}

/**
 * Links the dependencies of a key, installed first if the key is new.
 *
 * @returns `refused` if they are installed and cannot be kept, or were refused in an earlier run.
 */
async function provide(
  order: Order,
): Promise<
  | Installed
  | Extract<SuiteReport, { stage: 'install' }>
  | { readonly refused: string; readonly durationMs: number }
> {
  const { sandbox, job, manager, key, command, isShared } = order;
  const { dependencies } = job.host;
  const took = () => Math.round(performance.now() - order.startedMs);
  const cached = await dependencies.find(key);
  if (cached && 'refused' in cached) return { refused: cached.refused, durationMs: took() };
  if (cached) {
    await linkDependencies(sandbox, cached);
    const origin = isShared ? 'an earlier run with this lockfile' : 'an earlier run';
    job.onStage(`Dependencies of ${origin} are used (${manager ?? command})`);
    return { report: { manager, source: 'cache', durationMs: took() }, dependencies: cached };
  }
  job.onStage(`Installing dependencies: ${command}`);
  const root = isShared ? sharedFolder : suiteFolder;
  const folder = join(root, order.installDirectory);
  const { ended, lastOutput } = await runStep(sandbox, {
    command,
    workingDirectory: folder,
    environment: {
      ...job.host.trust?.installEnvironment,
      ...stepEnvironment(sandbox, {
        folder,
        manager,
        proxyUrl: job.proxyUrl,
        trust: job.host.trust,
        variables: order.variables,
      }),
    },
    timeoutMs: job.installTimeoutMs - took(),
    signal: job.signal,
    onLine: (stream, line) => job.onLine('install', stream, line),
  });
  if (ended.reason !== 'exited' || ended.exitCode !== 0) {
    return { stage: 'install', command, ended, lastOutput };
  }
  const durationMs = took();
  job.onStage(`Installed in ${durationMs} ms`);
  const { uid } = await stat(sandbox.directory);
  const kept = await dependencies.add(key, {
    suiteDirectory: join(sandbox.directory, root),
    ownerUid: uid,
    isShared,
    refusesScripts: order.refusesScripts,
  });
  if ('refused' in kept) return { refused: kept.refused, durationMs };
  await linkDependencies(sandbox, kept);
  return { report: { manager, source: 'installed', durationMs }, dependencies: kept };
}

function keyOf(
  parts: Readonly<Record<string, string | null>>,
  variables: Readonly<Record<string, string>>,
): string {
  return dependencyKey({ ...parts, variables: JSON.stringify(Object.entries(variables).sort()) });
}

function pick(
  variables: Readonly<Record<string, string>>,
  isChosen: (name: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => isChosen(name)));
}

/** Whether a variable configures package managers, or the suite's settings refer to it. */
function isInstallVariable(name: string, named: readonly string[]): boolean {
  return named.includes(name) || settingNames.some((pattern) => pattern.test(name));
}

/** Names of variables in a shell command. */
function variablesIn(command: string): string[] {
  return [...command.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].flatMap(([, name]) => name ?? []);
}

async function linkDependencies(sandbox: Sandbox, { directory, links }: CachedDependencies): Promise<void> {
  for (const { path, target } of links) {
    await sandbox.link(join(suiteFolder, path), target ?? join(directory, path));
  }
}

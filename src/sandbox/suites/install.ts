import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../sandbox.ts';
import { type CachedDependencies, dependencyKey } from './dependency-cache.ts';
import { installCommandOf } from './package-managers.ts';
import { runStep, stepEnvironment } from './step.ts';
import {
  type InstallReport,
  type SuiteJob,
  type SuiteReport,
  suiteFolder,
  type TestReport,
} from './suite-job.ts';
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
 * Installs the dependencies of a suite, or links to those of an earlier run with identical inputs: every file of the
 * suite, the command, and the variables visible to the installation. So a run never links to anything that another
 * suite or check introduced.
 */
export async function installDependencies(
  sandbox: Sandbox,
  job: SuiteJob,
  { manager, installDirectory, contentHash, namedVariables, hasModules }: UnpackedBundle,
): Promise<Installed | Exclude<SuiteReport, TestReport>> {
  const { versions } = job.host.packageManagers;
  const command = job.installCommand ?? (manager === null ? null : installCommandOf(manager));
  if (command === null || (hasModules && job.installCommand === null)) {
    const report = { manager, source: 'none', durationMs: 0 } as const;
    if (hasModules) return { report };
    const problem =
      'The bundle has no lockfile (package-lock.json, pnpm-lock.yaml, yarn.lock, bun.lock) and the check no installCommand';
    return { stage: 'no-lockfile', problem };
  }
  if (manager !== null && !versions.has(manager)) {
    const problem =
      `The bundle has a lockfile of ${manager}, which is not installed on this agent; ` +
      'npm run runtimes:install package-managers installs it';
    return { stage: 'no-manager', problem };
  }
  const variables = installVariables(job.variables, [...namedVariables, ...variablesIn(command)]);
  const key = dependencyKey({
    content: contentHash,
    variables: JSON.stringify(Object.entries(variables).sort()),
    proxyUrl: job.proxyUrl,
    installCommand: command,
    workingDirectory: job.workingDirectory,
    engine: job.engine,
    cacheHash: job.cacheHash,
    manager: manager === null ? null : `${manager} ${versions.get(manager)}`,
    platform: `${process.platform} ${process.arch} ${process.version}`,
  });
  const startedMs = performance.now();
  const took = () => Math.round(performance.now() - startedMs);
  const cached = await job.host.dependencies.find(key);
  if (cached) {
    await linkDependencies(sandbox, cached);
    job.onStage(`Dependencies of an earlier run are used (${manager ?? command})`);
    return { report: { manager, source: 'cache', durationMs: took() }, dependencies: cached };
  }
  job.onStage(`Installing dependencies: ${command}`);
  const { ended, lastOutput } = await runStep(sandbox, {
    command,
    workingDirectory: join(suiteFolder, installDirectory),
    environment: {
      ...job.host.trust?.installEnvironment,
      ...stepEnvironment(sandbox, {
        folder: join(suiteFolder, installDirectory),
        manager,
        proxyUrl: job.proxyUrl,
        trust: job.host.trust,
        variables,
      }),
    },
    timeoutMs: job.installTimeoutMs,
    signal: job.signal,
    onLine: (stream, line) => job.onLine('install', stream, line),
  });
  if (ended.reason !== 'exited' || ended.exitCode !== 0) {
    return { stage: 'install', command, ended, lastOutput };
  }
  const durationMs = took();
  job.onStage(`Installed in ${durationMs} ms`);
  const { uid } = await stat(sandbox.directory);
  const kept = await job.host.dependencies.add(key, {
    suiteDirectory: join(sandbox.directory, suiteFolder),
    ownerUid: uid,
  });
  const report = { manager, source: 'installed', durationMs } as const;
  if ('refused' in kept) {
    job.onStage(`The dependencies are not kept for later runs: ${kept.refused}`);
    return { report };
  }
  await linkDependencies(sandbox, kept);
  return { report, dependencies: kept };
}

/** Selects the check's variables that configure package managers, or that the suite's settings refer to. */
function installVariables(
  variables: Readonly<Record<string, string>>,
  named: readonly string[],
): Record<string, string> {
  const isSeen = (name: string) => named.includes(name) || settingNames.some((pattern) => pattern.test(name));
  return Object.fromEntries(Object.entries(variables).filter(([name]) => isSeen(name)));
}

/** Names of variables in a shell command. */
function variablesIn(command: string): string[] {
  return [...command.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].flatMap(([, name]) => name ?? []);
}

async function linkDependencies(sandbox: Sandbox, { directory, folders }: CachedDependencies): Promise<void> {
  for (const folder of folders) await sandbox.link(join(suiteFolder, folder), join(directory, folder));
}

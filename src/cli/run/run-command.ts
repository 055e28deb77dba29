import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { openReferences } from '@picket/agent/references/open-references.ts';
import type { SecretReferences } from '@picket/agent/references/secret-references.ts';
import { runCheckOnce } from '@picket/agent/run-once.ts';
import { readServiceSecrets } from '@picket/agent/service-secrets.ts';
import { readKerberosSettings } from '@picket/checks/kerberos/settings.ts';
import { readModelAccess } from '@picket/checks/model/settings.ts';
import { readCaDirectory, trustAlso } from '@picket/lib/ca-directory.ts';
import { AppError } from '@picket/lib/errors.ts';
import { withoutPassword } from '@picket/lib/text.ts';
import { isProxyUrl } from '@picket/probes/connection/forward-proxy.ts';
import { type FileCheck, readCheckFile } from '../check-file.ts';
import { copyArtifacts, openArtifactFolder } from './artifact-folder.ts';
import { runText, verdictOf } from './run-text.ts';
import { openLocalBundle } from './suite-folder.ts';

export interface RunOptions {
  readonly json?: boolean;
  /** `NAME=VALUE` each. */
  readonly env?: readonly string[];
  readonly proxy?: string;
  /** Folder for the artifacts of the run. */
  readonly artifacts?: string;
}

/** Longer runs show progress, so that they do not seem to hang. */
const quietMs = 1000;

interface RunContext extends RunOptions {
  readonly secrets: Readonly<Record<string, string>>;
  /** Secrets whose values live elsewhere. */
  readonly references: SecretReferences;
  readonly proxyUrl: string | null;
  readonly model: ReturnType<typeof readModelAccess>;
  readonly kerberos: ReturnType<typeof readKerberosSettings>;
  readonly caCertificates: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The folder of the file, from which it names suites. */
  readonly folder: string;
}

/**
 * `picket run FILE`: runs the checks of a file, one after the other, with the agent's own runner, and prints their results.
 *
 * @returns the exit code: 0 if each check passed or is degraded, 1 otherwise.
 * @throws AppError CHECK_FILE_INVALID if the file or an option is wrong (exit code 2).
 */
export async function runCommand(
  file: string,
  options: RunOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { checks, isList } = await readCheckFile(file, environment);
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  const secrets = readServiceSecrets(environment);
  const references = openReferences(environment, Object.keys(secrets));
  const context: RunContext = {
    ...options,
    ...{ environment, folder: dirname(file), signal: stop.signal, secrets, references },
    proxyUrl: options.proxy === undefined ? null : checkedProxy(options.proxy),
    model: readModelAccess(environment),
    kerberos: readKerberosSettings(environment),
    caCertificates: await customCaOf(environment.CA_CERTS_DIR),
  };
  process.once('SIGINT', onInterrupt);
  const outcomes: RunOutcome[] = [];
  try {
    for (const check of checks) {
      if (stop.signal.aborted) break;
      const outcome = await runOne(check, context);
      outcomes.push(outcome);
      if (!options.json) console.log(outcome.text);
    }
  } finally {
    process.off('SIGINT', onInterrupt);
    await references[Symbol.asyncDispose]();
  }
  const reports = outcomes.map(({ report }) => report);
  if (options.json) console.log(JSON.stringify(isList ? reports : reports[0], null, 2));
  return outcomes.length === checks.length && outcomes.every(({ isGood }) => isGood) ? 0 : 1;
}

interface RunOutcome {
  readonly report: object;
  readonly text: string;
  readonly isGood: boolean;
}

async function runOne(check: FileCheck, context: RunContext): Promise<RunOutcome> {
  const { environment, secrets } = context;
  if (check.groupName !== undefined) {
    console.error(
      `picket: the settings of the group ${check.groupName} are not applied: only the service does that`,
    );
  }
  const bundle =
    check.suiteSource === undefined
      ? undefined
      : await openLocalBundle(resolve(context.folder, check.suiteSource));
  const artifactFolder = context.artifacts === undefined ? undefined : await openArtifactFolder(tmpdir());
  const patience = setTimeout(() => {
    if (process.stderr.isTTY)
      process.stderr.write(`running ${check.name} (at most ${check.type.timeoutMs / 1000} s)\n`);
  }, quietMs);
  try {
    const { report, files } = await runCheckOnce({
      checkType: check.type.name,
      spec: bundle ? { ...check.spec, codeBundlePath: bundle.key } : check.spec,
      codeBundle: bundle && { key: bundle.key, path: bundle.path },
      variables: { ...secrets, ...check.variables, ...parseVariables(context.env ?? []) },
      secretNames: [...Object.keys(secrets), ...check.secretNames],
      references: context.references,
      lifecycle: check.lifecycle,
      runtimeId: check.runtimeId,
      proxyUrl: context.proxyUrl,
      artifactFolder,
      runtimesDirectory: environment.RUNTIMES_DIR,
      chromiumPath: environment.CHROMIUM_PATH,
      browsersDirectory: environment.BROWSERS_DIR || undefined,
      caCertificates: context.caCertificates,
      model: context.model,
      kerberos: context.kerberos,
      signal: context.signal,
    });
    if (context.artifacts !== undefined) await copyArtifacts(files, context.artifacts);
    const verdict = verdictOf(report);
    const shown = { name: check.name, checkType: check.type.name };
    return {
      report: { ...shown, verdict, ...report },
      text: runText(shown, report, process.stdout),
      isGood: verdict === 'PASSED' || verdict === 'DEGRADED',
    };
  } finally {
    clearTimeout(patience);
    await bundle?.remove();
    if (artifactFolder !== undefined) await rm(artifactFolder, { recursive: true, force: true });
  }
}

/** Reads the certificates of CA_CERTS_DIR; problems with its files go to standard error, separate from the result. */
async function customCaOf(directory: string | undefined): Promise<readonly string[]> {
  if (directory === undefined || directory === '') return [];
  const { files, certificates, problem } = await readCaDirectory(directory);
  if (problem !== undefined) console.error(`picket: CA_CERTS_DIR: ${problem}`);
  for (const { name, problems } of files) {
    for (const { text } of problems) console.error(`picket: CA_CERTS_DIR: ${name}: ${text}`);
  }
  const pems = certificates.map(({ pem }) => pem);
  // Secrets are fetched in this thread.
  trustAlso(pems);
  return pems;
}

function checkedProxy(text: string): string {
  const url = URL.parse(text);
  if (url && isProxyUrl(url)) return text;
  const address = withoutPassword(text);
  throw new AppError(
    'CHECK_FILE_INVALID',
    `--proxy ${address}: must be an http://, https:// or socks5:// address`,
  );
}

function parseVariables(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new AppError('CHECK_FILE_INVALID', `--env ${pair}: must be NAME=VALUE`);
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

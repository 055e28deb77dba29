import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { toError } from '@picket/lib/errors.ts';
import type { PartProblem } from '../mechanism.ts';
import type { Sandbox } from '../sandbox.ts';
import { makeNssDatabase } from './nss-database.ts';

/** Makes programs in sandboxes trust custom CA certificates in addition to the usual ones. */
export interface ScriptTrust {
  /** Folder with the files listed below; scripts must be able to read it. */
  readonly directory: string;
  /**
   * Variables for every process of a script: Node and Firefox add the files they name to their built-in certificates.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Additional variables for the installation of packages. npm, pnpm, Yarn 1 and 4 and Bun add the file in
   * `environment` to their built-in certificates (their own settings would replace those, and override a setting of the
   * project). Programs that they call for Git dependencies do not, and get a file of all authorities.
   */
  readonly installEnvironment: Readonly<Record<string, string>>;
  /** Files that Chromium reads, by their path below the home of the script. */
  readonly browserFiles: ReadonlyMap<string, Buffer>;
  /** Failures, for the operator. */
  readonly problems: readonly PartProblem[];
}

/** Where Chromium on Linux looks for CA certificates, below the user's home. */
const nssFolder = '.pki/nssdb';

/**
 * Writes the files that make scripts and their browsers trust some authorities.
 *
 * @param options.directory a folder for this alone; its content is replaced.
 * @param options.certificates PEM texts, at least one.
 * @param options.executablePath the browser, if available.
 */
export async function prepareScriptTrust(options: {
  readonly directory: string;
  readonly certificates: readonly string[];
  readonly executablePath: string | undefined;
}): Promise<ScriptTrust> {
  const { directory, certificates, executablePath } = options;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o755 });
  const write = async (name: string, content: string) => {
    const path = join(directory, name);
    await writeFile(path, content, { mode: 0o644 });
    return path;
  };
  const ownFiles: string[] = [];
  // Firefox reads only one certificate per file.
  for (const [index, pem] of certificates.entries()) ownFiles.push(await write(`own-${index}.pem`, pem));
  const addedPath = await write('added.pem', joined([...getCACertificates('extra'), ...certificates]));
  const wholePath = await write('all.pem', joined([...getCACertificates('default'), ...certificates]));
  const policies = { policies: { Certificates: { Install: ownFiles } } };
  const policiesPath = await write('firefox-policies.json', JSON.stringify(policies));
  const problems: PartProblem[] = [];
  const browserFiles = new Map<string, Buffer>();
  if (executablePath !== undefined) {
    try {
      for (const [name, content] of await makeNssDatabase(certificates, executablePath)) {
        browserFiles.set(join(nssFolder, name), content);
      }
    } catch (thrown) {
      const text = `browsers do not trust the certificates of CA_CERTS_DIR: ${toError(thrown).message}`;
      problems.push({ part: 'browser-trust', text });
    }
  }
  return {
    directory,
    environment: { NODE_EXTRA_CA_CERTS: addedPath, PLAYWRIGHT_FIREFOX_POLICIES_JSON: policiesPath },
    installEnvironment: {
      SSL_CERT_FILE: wholePath,
      GIT_SSL_CAINFO: wholePath,
    },
    browserFiles,
    problems,
  };
}

/** Writes the files for the browser to the home of a script. */
export async function placeBrowserTrust(sandbox: Sandbox, trust: ScriptTrust): Promise<void> {
  for (const [path, content] of trust.browserFiles) await sandbox.write(path, content);
}

function joined(certificates: readonly string[]): string {
  return certificates.map((pem) => `${pem.trim()}\n`).join('');
}

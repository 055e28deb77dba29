import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../sandbox.ts';

/** Kerberos tickets with which the Chromium of one run logs in at servers that ask for Negotiate. */
export interface BrowserLogin {
  /** A ticket cache in the format of MIT Kerberos. */
  readonly tickets: Buffer;
  /** The krb5.conf, which says to which realm a host belongs. */
  readonly config: Buffer;
}

/** Below the home of the script. */
const folder = '.kerberos';

/** Writes the tickets to the home of a script; only a browser that `writeLoginStarter` starts looks for them. */
export async function placeBrowserLogin(sandbox: Sandbox, { tickets, config }: BrowserLogin): Promise<void> {
  await sandbox.write(join(folder, 'tickets'), tickets);
  await sandbox.write(join(folder, 'krb5.conf'), config);
}

/**
 * Writes the program that starts Chromium in a sandbox: where the home of the run has tickets, the browser uses them at
 * the given servers, in whichever way a script starts it. It becomes the browser, so no process is added.
 *
 * @param options.directory which scripts must be able to read.
 * @returns its path.
 */
export async function writeLoginStarter(options: {
  readonly directory: string;
  readonly executablePath: string;
  readonly servers: readonly string[];
}): Promise<string> {
  const { directory, servers } = options;
  const browser = quoted(options.executablePath);
  const allowed = quoted(`--auth-server-allowlist=${servers.join(',')}`);
  const text = `#!/bin/sh
tickets="$HOME/${folder}/tickets"
[ -e "$tickets" ] || exec ${browser} "$@"
export KRB5CCNAME="FILE:$tickets" KRB5_CONFIG="$HOME/${folder}/krb5.conf"
exec ${browser} ${allowed} "$@"
`;
  await mkdir(directory, { recursive: true });
  const path = join(directory, 'chromium-with-tickets');
  // Replaced atomically: a run may be starting it.
  const fresh = `${path}.${crypto.randomUUID()}`;
  await writeFile(fresh, text);
  await chmod(fresh, 0o755);
  await rename(fresh, path);
  return path;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

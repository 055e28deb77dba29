import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

const modulesFolder = '/usr/lib/apache2/modules';
const commonModules = ['mpm_event', 'authz_core', 'authz_user', 'authn_core', 'authn_file', 'unixd'];

export interface Apache extends AsyncDisposable {
  readonly port: number;
  readonly folder: string;
}

/** Reason why tests that need modules of Apache cannot run here, or null. In CI, missing ones are an error. */
export function whyNoApache(modules: readonly string[], packages: string): string | null {
  const isThere = !spawnSync('apache2', ['-v'], { stdio: 'ignore' }).error;
  if (isThere && modules.every((name) => existsSync(moduleFile(name)))) return null;
  const reason = `not on this machine: ${packages}`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/** Starts Debian's Apache on a free loopback port, with a folder of pages that `directives` protect. */
export async function startApache(options: {
  readonly modules: readonly string[];
  /** Files in its folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly directives: (folder: string, port: number) => string;
  readonly env?: (folder: string) => Readonly<Record<string, string>>;
}): Promise<Apache> {
  const folder = mkdtempSync(join(tmpdir(), 'picket-apache-'));
  const port = await freePort();
  const modules = [...commonModules, ...options.modules].filter((name) => existsSync(moduleFile(name)));
  for (const [name, text] of Object.entries({ 'index.html': 'in', ...options.files })) {
    writeFileSync(join(folder, name), text);
  }
  const lines = `
    ServerRoot ${folder}
    ServerName localhost
    Listen 127.0.0.1:${port}
    ${modules.map((name) => `LoadModule ${name}_module ${moduleFile(name)}`).join('\n')}
    PidFile ${folder}/pid
    DefaultRuntimeDir ${folder}
    ErrorLog ${folder}/error.log
    DocumentRoot ${folder}
    ${options.directives(folder, port)}`;
  const file = join(folder, 'conf');
  writeFileSync(
    file,
    lines
      .split('\n')
      .map((line) => `${line.trim()}\n`)
      .join(''),
  );
  const child = spawn('apache2', ['-DFOREGROUND', '-f', file], {
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, ...options.env?.(folder) },
  });
  const exited = once(child, 'exit');
  const close = async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await listening(child, port);
  } catch (thrown) {
    const log = existsSync(join(folder, 'error.log')) ? readFileSync(join(folder, 'error.log'), 'utf8') : '';
    await close();
    throw new Error(`Apache does not start: ${log}`, { cause: thrown });
  }
  return { port, folder, [Symbol.asyncDispose]: close };
}

function moduleFile(name: string): string {
  return join(modulesFolder, `mod_${name}.so`);
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`apache2 ended with ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await delay(20);
  }
}

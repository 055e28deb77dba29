import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

/** A third-party forward proxy, by the name of its program and Debian package. */
export const realProxies = ['squid', 'apache2', 'tinyproxy', 'privoxy', 'microsocks'] as const;
export type RealProxyName = (typeof realProxies)[number];

export interface RealProxy extends AsyncDisposable {
  readonly url: string;
  /** Stops all of its processes: the kernel still accepts connections for it, but it does not respond. */
  freeze(): void;
}

/** Reason why tests that need the proxies cannot run here, or null. In CI, missing proxies are an error. */
export function whyNoRealProxies(): string | null {
  const missing = realProxies.filter((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).error);
  if (missing.length === 0) return null;
  const reason = `not on this machine: ${missing.join(', ')} (Debian packages of the same names)`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

const apacheModules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'proxy_connect'];

const configurations: Readonly<Record<RealProxyName, (port: number, folder: string) => string>> = {
  squid: (port, folder) => `
    http_port 127.0.0.1:${port}
    http_access allow all
    cache deny all
    cache_log ${folder}/cache.log
    access_log none
    netdb_filename none
    pinger_enable off
    pid_filename none
    coredump_dir ${folder}
    dns_timeout 1 second
    visible_hostname picket.test`,
  apache2: (port, folder) => `
    ServerRoot ${folder}
    ServerName picket.test
    Listen 127.0.0.1:${port}
    ${apacheModules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
    PidFile ${folder}/pid
    DefaultRuntimeDir ${folder}
    ErrorLog ${folder}/error.log
    User nobody
    Group nogroup
    ProxyRequests On
    AllowCONNECT 1-65535
    <Proxy "*">
      Require all granted
    </Proxy>`,
  tinyproxy: (port) => `
    Port ${port}
    Listen 127.0.0.1
    Allow 127.0.0.1
    Timeout 600
    MaxClients 50
    LogLevel Critical`,
  privoxy: (port, folder) => `
listen-address 127.0.0.1:${port}
confdir ${folder}
logdir ${folder}
templdir /etc/privoxy/templates
toggle 0`,
  // Its command line contains all settings.
  microsocks: () => '',
};

const commands: Readonly<Record<RealProxyName, (file: string, port: number) => string[]>> = {
  squid: (file) => ['-N', '-f', file],
  apache2: (file) => ['-DFOREGROUND', '-f', file],
  tinyproxy: (file) => ['-d', '-c', file],
  privoxy: (file) => ['--no-daemon', file],
  microsocks: (_file, port) => ['-i', '127.0.0.1', '-p', String(port)],
};

/** The login that microsocks requires. */
interface Login {
  readonly user: string;
  readonly password: string;
}

/**
 * Starts a proxy on a free loopback port, with its default settings where possible.
 *
 * @param login only for microsocks.
 */
export async function startRealProxy(name: RealProxyName, login?: Login): Promise<RealProxy> {
  const folder = mkdtempSync(join(tmpdir(), `picket-${name}-`));
  // Some of them drop root privileges before they write there.
  chmodSync(folder, 0o777);
  const port = await freePort();
  const file = join(folder, 'conf');
  const lines = configurations[name](port, folder).split('\n');
  writeFileSync(file, lines.map((line) => `${line.trim()}\n`).join(''));
  const loginOptions = login ? ['-u', login.user, '-P', login.password] : [];
  const child = spawn(name, [...commands[name](file, port), ...loginOptions], {
    stdio: 'ignore',
    detached: true,
  });
  const exited = once(child, 'exit');
  const close = async () => {
    signalGroup(child, 'SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await listening(child, port);
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    url: `${name === 'microsocks' ? 'socks5' : 'http'}://127.0.0.1:${port}`,
    freeze: () => signalGroup(child, 'SIGSTOP'),
    [Symbol.asyncDispose]: close,
  };
}

function signalGroup({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
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

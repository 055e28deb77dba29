import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isInstalled, mustRun, run } from './command.ts';

const packages = ['containerd', 'docker.io', 'runc', 'tini'];
const startMs = 60_000;
const stopMs = 30_000;

export interface UnpackedDocker {
  readonly client: string;
  /** For DOCKER_HOST. */
  readonly host: string;
  stop(): Promise<void>;
}

export interface UnpackedDockerOptions {
  /** Where its data, log and socket are; `state` below the folder when absent. */
  readonly state?: string;
  /** No rules for packets on this machine: containers reach nothing but what they are given the machine's own network for. */
  readonly isWithoutRules?: boolean;
  /** Further arguments of the daemon. */
  readonly args?: readonly string[];
}

/**
 * Starts a Docker Engine from Debian's packages, unpacked into a folder and not installed: its daemon, data and socket are
 * all below that folder. Images and the build cache in there make the next time faster. Needs root.
 *
 * @returns the engine, or why there is none.
 */
export async function startUnpackedDocker(
  folder: string,
  options: UnpackedDockerOptions = {},
): Promise<UnpackedDocker | string> {
  if (process.getuid?.() !== 0)
    return "an unpacked Docker Engine needs root, and so does building without Docker's daemon or Podman";
  if (!(await isInstalled('apt-get'))) return "this system has no apt-get to take Debian's packages from";
  const programs = unpackedPrograms(folder);
  await unpack(programs);
  const bin = join(programs, 'usr/bin');
  const state = options.state ?? join(folder, 'state');
  await mkdir(state, { recursive: true });
  const socket = join(state, 'docker.sock');
  await rm(join(state, 'pid'), { force: true });
  const log = openSync(join(state, 'log'), 'w');
  const daemon = spawn(
    join(programs, 'usr/sbin/dockerd'),
    [
      ...[
        '--data-root',
        join(state, 'data'),
        '--exec-root',
        join(state, 'exec'),
        '--pidfile',
        join(state, 'pid'),
      ],
      ...['--host', `unix://${socket}`, '--bip', '10.213.0.1/24', '--storage-driver', 'overlay2'],
      ...(options.isWithoutRules ? ['--iptables=false', '--ip-forward=false'] : []),
      ...(options.args ?? []),
    ],
    {
      // Not in the terminal's group: Ctrl-C is for us, and we stop it.
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        PATH: `${join(programs, 'usr/sbin')}:${bin}:${process.env.PATH}:/usr/sbin:/sbin`,
      },
    },
  );
  const stop = async () => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = once(daemon, 'exit');
    daemon.kill('SIGTERM');
    await Promise.race([exited, delay(stopMs, undefined, { ref: false })]);
    daemon.kill('SIGKILL');
  };
  const client = join(bin, 'docker');
  const host = `unix://${socket}`;
  const endsAtMs = performance.now() + startMs;
  while ((await run(client, ['info'], { environment: { DOCKER_HOST: host } })).code !== 0) {
    if (daemon.exitCode !== null || performance.now() > endsAtMs) {
      await stop();
      return `the unpacked Docker Engine did not start; see ${join(state, 'log')}`;
    }
    await delay(200);
  }
  return { client, host, stop };
}

/** Where the packages of an engine of that folder are unpacked: `usr/bin/runc` and so on. */
export function unpackedPrograms(folder: string): string {
  return join(folder, 'programs');
}

async function unpack(programs: string): Promise<void> {
  if (existsSync(join(programs, 'usr/sbin/dockerd'))) return;
  const fresh = `${programs}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(join(fresh, 'debs'), { recursive: true });
  console.log(`Downloading a Docker Engine (${packages.join(', ')}) from Debian`);
  await mustRun('apt-get', ['download', ...packages], { cwd: join(fresh, 'debs') });
  for (const deb of await readdir(join(fresh, 'debs')))
    await mustRun('dpkg', ['-x', join(fresh, 'debs', deb), fresh]);
  await rm(join(fresh, 'debs'), { recursive: true });
  await mustRun('mv', [fresh, programs]);
}

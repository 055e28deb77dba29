import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun } from '../images/command.ts';

/**
 * Kernel settings that the kubelet insists on and would change for the whole machine: it is shown files that have the values it wants.
 * As setupKernelTunables of Kubernetes 1.20.
 */
const tunables: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Folders that the kubelet and its parts write to, wherever they are told to keep their data. */
const written = ['/var/lib', '/var/log'];

/**
 * Makes this process's mount namespace a node's: what is written below /var/lib, /var/log and /run goes to the folder, and kernel settings
 * of the machine cannot be changed by accident.
 */
export async function makeNodeFiles(folder: string): Promise<void> {
  for (const [index, path] of written.entries()) {
    const [upper, work] = [join(folder, `upper-${index}`), join(folder, `work-${index}`)];
    for (const each of [upper, work]) await mkdir(each, { recursive: true });
    const layers = `lowerdir=${path},upperdir=${upper},workdir=${work}`;
    await mustRun('mount', ['-t', 'overlay', 'overlay', '-o', layers, path]);
  }
  await mustRun('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  for (const [name, value] of Object.entries(tunables)) {
    const file = join(folder, name.replaceAll('/', '-'));
    await writeFile(file, `${value}\n`);
    await mustRun('mount', ['--bind', file, join('/proc/sys', name)]);
  }
}

/** Brings up the network of the node: itself, at an address that pods reach too. There is nothing beyond. */
export async function makeNodeNetwork(address: string): Promise<void> {
  const environment = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
  for (const args of [
    ['link', 'set', 'lo', 'up'],
    ['addr', 'add', `${address}/32`, 'dev', 'lo'],
  ])
    await mustRun('ip', args, { environment });
}

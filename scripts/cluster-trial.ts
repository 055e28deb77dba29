/**
 * Tries the manifests of deploy/kubernetes on a real cluster: `npm run cluster [-- --cache FOLDER] [--build-only]`. Needs root, Debian 12
 * and cgroups of version 1; it downloads some 200 MB and takes 6 GB of disk while Kubernetes is built, the first time, and 1.5 GB afterwards.
 *
 * 1. Kubernetes 1.20.2 is built from Debian's source package, with Debian's Go; nothing is installed (cluster/kubernetes-programs.ts).
 * 2. The image `picket-uptime` is built from its Dockerfile (cluster/trial-images.ts).
 * 3. A cluster of one node is started in a network of its own, and what docs/kubernetes-trial.md shows is tried (cluster/trial.ts).
 *
 * Everything after the checks below runs in a process and a mount namespace of its own: when this ends, however it does, the kernel ends
 * whatever was started, and mounts go with it. The pipe to the first process in there is how it learns that it shall end earlier. What
 * namespaces do not hold are control groups: those are removed here.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeControlGroups, missingForControlGroups, removeControlGroups } from './cluster/control-groups.ts';
import { runStage } from './cluster/stage-process.ts';
import { isInstalled } from './images/command.ts';

const root = join(import.meta.dirname, '..');

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cache: { type: 'string', default: join(root, '.picket', 'cluster') },
      'build-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log('usage: npm run cluster [-- --cache FOLDER] [--build-only]');
    return 0;
  }
  const missing = await whatIsMissing();
  if (missing.length > 0) {
    console.error(`The trial on a cluster cannot be done here: ${missing.join('; ')}`);
    return 2;
  }
  const cache = resolve(values.cache);
  await mkdir(cache, { recursive: true });
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  // Agents on this machine remove groups that begin with `picket-` and are nobody's.
  const controlGroup = `cluster-trial-${process.pid}`;
  await makeControlGroups(controlGroup);
  try {
    const script = join(import.meta.dirname, 'cluster', 'main.ts');
    const args = [cache, controlGroup, values['build-only'] ? 'build' : 'try'];
    return await runStage([], script, args, stop.signal);
  } finally {
    await removeControlGroups(controlGroup);
  }
}

async function whatIsMissing(): Promise<string[]> {
  const missing: string[] = [];
  if (process.platform !== 'linux') return ['it needs Linux'];
  if (process.getuid?.() !== 0) missing.push('it needs root');
  for (const program of ['apt-get', 'dpkg-source', 'gcc', 'unshare', 'iptables'])
    if (!(await isInstalled(program))) missing.push(`${program} is not installed`);
  if (!['/sbin/ip', '/usr/sbin/ip', '/bin/ip'].some((file) => existsSync(file)))
    missing.push('ip (iproute2) is not installed');
  return [...missing, ...missingForControlGroups()];
}

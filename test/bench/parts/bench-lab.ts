import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';
import type { BenchReport, BenchRun } from '../report.ts';

/** Debian packages of the programs a benchmark may need. */
const packageOf = {
  tcpdump: 'tcpdump',
  chrt: 'util-linux',
  fping: 'fping',
  prometheus: 'prometheus',
  'prometheus-blackbox-exporter': 'prometheus-blackbox-exporter',
};

/** @throws an error that names every missing program. */
export function needPrograms(...programs: (keyof typeof packageOf)[]): void {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  const missing = programs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (missing.length === 0) return;
  const packages = missing.map((program) => packageOf[program]).join(' ');
  throw new Error(`${missing.join(', ')} not installed: apt-get install ${packages}`);
}

/** Output of a program in the lab, one line of JSON each. */
export type LabLine = { readonly progress: string } | { readonly report: BenchReport };

export const targetAddress = '10.80.2.1';
/** The agent's network device, where the capture listens. */
export const agentDevice = 'to-router';

/**
 * Runs a program of this folder on the agent's host of a separate network and returns the report that it prints.
 * `prepare` starts programs on the target's host. Namespaces and all processes in them are removed afterwards, after
 * Ctrl-C too.
 */
export async function runInLab(
  run: BenchRun,
  script: string,
  targetScript: readonly string[],
): Promise<BenchReport> {
  const reason = whyNoNamespaces();
  if (reason !== undefined) throw new Error(reason);
  using cleanup = new DisposableStack();
  const endBySignal = () => {
    cleanup.dispose();
    process.exit(130);
  };
  // Removed last: a second signal must not interrupt the cleanup.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, endBySignal);
    cleanup.defer(() => process.off(signal, endBySignal));
  }
  const lab = cleanup.use(new NetworkLab());
  cleanup.defer(() => killAll(lab));
  // Thousands of connections to one port within the minute that a closed connection keeps its port.
  lab.exec('agent', 'sysctl -qw net.ipv4.ip_local_port_range=2048\t65000');
  // The target has real-time priority, because the measurements include its waits.
  const [targetFile = '', ...targetArgs] = targetScript;
  const target = startOn(lab, 'target', ['chrt', '-f', '5'], [targetFile, ...targetArgs]);
  const probing = startOn(lab, 'agent', [], [script, ...run.options]);
  // Lines of the target are replies to lines of the program, and vice versa.
  forward(target, probing);
  let report: BenchReport | undefined;
  for await (const line of createInterface({ input: probing.stdout ?? ([] as never) })) {
    if (line.startsWith('ask ')) target.stdin?.write(`${line.slice(4)}\n`);
    else {
      const said = JSON.parse(line) as LabLine;
      if ('progress' in said) run.progress(said.progress);
      else report = said.report;
    }
  }
  if (!report) throw new Error(`${script} ended without a report`);
  return report;
}

function forward(target: ChildProcess, probing: ChildProcess): void {
  if (!target.stdout) throw new Error('the target has no output');
  createInterface({ input: target.stdout }).on('line', (line) => probing.stdin?.write(`${line}\n`));
}

function startOn(
  lab: NetworkLab,
  host: 'agent' | 'target',
  prefix: readonly string[],
  [script = '', ...args]: readonly string[],
): ChildProcess {
  const words = [...prefix, process.execPath, join(import.meta.dirname, script), ...args];
  const [command = '', ...rest] = lab.commandOn(host, words);
  // In a group of its own, so that Ctrl-C reaches it only through this process.
  return spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
}

function killAll(lab: NetworkLab): void {
  for (const host of ['agent', 'target'] as const) {
    const pids = lab.processIds(host);
    if (pids.length > 0) spawnSync('kill', ['-9', ...pids.map(String)]);
  }
}

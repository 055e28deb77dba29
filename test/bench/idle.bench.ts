import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Stage } from '../helpers/agent/stage.ts';
import { startServiceProcess } from '../helpers/picket-process.ts';
import { runtimesDirectory } from '../helpers/scripts/script-stage.ts';
import { descendants } from './parts/end-children.ts';
import { type Bench, choicesOption, numberOption } from './report.ts';

/** Usage of one process since it started. */
interface Usage {
  readonly name: string;
  readonly cpuMs: number;
  /** How often its threads have waited for something: each wait ends with a wake-up. */
  readonly waits: number;
  readonly memoryBytes: number;
}

/** A process that is started, and idle with its descendants. */
interface Subject {
  readonly pid: number;
  stop(): PromiseLike<void>;
}

/** As in the images. */
const imageArguments = ['--max-semi-space-size=8', '--min-semi-space-size=8'];

const subjects: Readonly<Record<'agent' | 'service' | 'start', (folder: string) => Promise<Subject>>> = {
  async agent(folder) {
    const stage = await Stage.open();
    const agent = stage.startAgent({
      RUNTIMES_DIR: runtimesDirectory,
      SCRIPTS_DIR: join(folder, 'agent'),
      SPOOL_DIR: folder,
      LOG_LEVEL: 'info',
    });
    await agent.logged('script sandbox ready', 120_000);
    return {
      pid: agent.child.pid ?? 0,
      async stop() {
        await stage[Symbol.asyncDispose]();
        await delay(1500); // the supervisor of the killed agent is still using the folder
      },
    };
  },
  async service(folder) {
    const service = await startServiceProcess({ DATA_DIR: join(folder, 'data') }, imageArguments);
    return { pid: service.process.pid, stop: () => service[Symbol.asyncDispose]() };
  },
  /** With npm, and with its sample monitors: not idle, so only its memory counts. */
  async start(folder) {
    const root = join(import.meta.dirname, '../..');
    const child = spawn('npm', ['start', '--silent'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PICKET_START_DIR: join(folder, 'start') },
    });
    const ended = once(child, 'close');
    for await (const line of createInterface({ input: child.stdout }))
      if (line.includes('Try the API')) break;
    child.stdout.resume();
    return {
      pid: child.pid ?? 0,
      async stop() {
        child.kill('SIGTERM');
        await ended;
      },
    };
  },
};

const bench: Bench = {
  usage: '[--settle=30] [--seconds=30] [--only=agent|service|start]',
  title: 'Idle: an agent with runtimes and a service that have nothing to do, and the memory of `npm start`',
  async run(bench) {
    const settleSeconds = numberOption(bench, 'settle', 30);
    const seconds = numberOption(bench, 'seconds', 30);
    const rows: string[][] = [];
    const figures: Record<string, string | number> = {};
    for (const name of choicesOption(bench, 'only', ['agent', 'service', 'start'])) {
      const folder = await mkdtemp('/var/tmp/picket-bench-idle-');
      await chmod(folder, 0o711); // sandbox users must traverse it
      try {
        const subject = await subjects[name](folder);
        try {
          await delay(settleSeconds * 1000);
          const used = await usedBy(subject.pid, seconds);
          const all = { ...sumOf(used), name: 'all' };
          for (const { name: process, cpuMs, waits, mib } of [...used.filter(({ mib }) => mib >= 1), all])
            rows.push([name, process, cpuMs.toFixed(1), waits.toFixed(0), mib.toFixed(0)]);
          figures[`${name}_cpu_ms_per_s`] = all.cpuMs.toFixed(1);
          figures[`${name}_wakeups_per_s`] = all.waits.toFixed(0);
          figures[`${name}_mib`] = all.mib.toFixed(0);
        } finally {
          await subject.stop();
        }
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      }
    }
    return {
      columns: ['', 'process', 'CPU a second (ms)', 'wake-ups a second', 'memory (MiB)'],
      rows,
      notes: [
        `Over ${seconds} s, ${settleSeconds} s after the start. CPU includes that of children that have ended. Memory is the proportional set size. Processes below 1 MiB are in the sums only. \`start\` runs its sample monitors.`,
      ],
      figures,
    };
  },
};
export default bench;

interface Used {
  readonly name: string;
  readonly cpuMs: number;
  readonly waits: number;
  readonly mib: number;
}

/** Usage of a process and its descendants, per second. */
async function usedBy(pid: number, seconds: number): Promise<Used[]> {
  const pids = [pid, ...descendants(pid)];
  const before = await Promise.all(pids.map(usageOf));
  await delay(seconds * 1000);
  const after = await Promise.all(pids.map(usageOf));
  return pids.flatMap((id, index) => {
    const [first, last] = [before[index], after[index]];
    if (!first || !last) return [];
    const perSecond = (of: (usage: Usage) => number) => (of(last) - of(first)) / seconds;
    return [
      {
        name: `${last.name} (${id})`,
        cpuMs: perSecond(({ cpuMs }) => cpuMs),
        waits: perSecond(({ waits }) => waits),
        mib: last.memoryBytes / 2 ** 20,
      },
    ];
  });
}

const sumOf = (used: readonly Used[]) => ({
  cpuMs: used.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  waits: used.reduce((sum, { waits }) => sum + waits, 0),
  mib: used.reduce((sum, { mib }) => sum + mib, 0),
});

const msPerTick = 10;

/** undefined if the process has ended. */
async function usageOf(pid: number): Promise<Usage | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0);
    const threads = await readdir(`/proc/${pid}/task`);
    const statuses = await Promise.all(
      threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/status`, 'latin1').catch(() => '')),
    );
    const waits = statuses.reduce(
      (sum, text) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1] ?? 0),
      0,
    );
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
    const memoryBytes = Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
    const words = (await readFile(`/proc/${pid}/cmdline`, 'latin1')).split('\0');
    const name = basename(words.find((word) => /\.(?:ts|c?js)$/.test(word)) ?? words[0] ?? '');
    return { name, cpuMs: ticks * msPerTick, waits, memoryBytes };
  } catch {
    return undefined; // it has ended
  }
}

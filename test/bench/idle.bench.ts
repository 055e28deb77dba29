import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Stage } from '../helpers/agent/stage.ts';
import { runtimesDirectory } from '../helpers/scripts/script-stage.ts';
import { descendants } from './parts/end-children.ts';
import { type Bench, numberOption } from './report.ts';

/** Usage of one process since it started. */
interface Usage {
  readonly name: string;
  readonly cpuMs: number;
  /** How often its threads have waited for something: each wait ends with a wake-up. */
  readonly waits: number;
  readonly memoryBytes: number;
}

/** `npm run bench -- idle [--settle=30] [--seconds=30]` */
const bench: Bench = {
  title: 'Idle: an agent with runtimes that runs nothing',
  async run(bench) {
    const settleSeconds = numberOption(bench, 'settle', 30);
    const seconds = numberOption(bench, 'seconds', 30);
    const folder = await mkdtemp('/var/tmp/picket-bench-idle-');
    await chmod(folder, 0o711); // sandbox users must traverse it
    const stage = await Stage.open();
    try {
      const agent = stage.startAgent({
        RUNTIMES_DIR: runtimesDirectory,
        SCRIPTS_DIR: join(folder, 'agent'),
        SPOOL_DIR: folder,
        LOG_LEVEL: 'info',
      });
      await agent.logged('script sandbox ready', 120_000);
      await delay(settleSeconds * 1000);
      const pid = agent.child.pid ?? 0;
      const pids = [pid, ...descendants(pid)];
      const before = await Promise.all(pids.map(usageOf));
      await delay(seconds * 1000);
      const after = await Promise.all(pids.map(usageOf));
      const used = pids.flatMap((id, index) => {
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
      const total = {
        name: 'all',
        cpuMs: used.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
        waits: used.reduce((sum, { waits }) => sum + waits, 0),
        mib: used.reduce((sum, { mib }) => sum + mib, 0),
      };
      return {
        columns: ['process', 'CPU a second (ms)', 'wake-ups a second', 'memory (MiB)'],
        rows: [...used.filter(({ mib }) => mib >= 1), total].map(({ name, cpuMs, waits, mib }) => [
          name,
          cpuMs.toFixed(1),
          waits.toFixed(0),
          mib.toFixed(0),
        ]),
        notes: [
          `Over ${seconds} s, ${settleSeconds} s after the agent was ready for scripts. CPU includes that of children that have ended. Memory is the proportional set size. Processes below 1 MiB are in the last row only.`,
        ],
        figures: {
          cpu_ms_per_s: total.cpuMs.toFixed(1),
          wakeups_per_s: total.waits.toFixed(0),
          idle_mib: total.mib.toFixed(0),
          processes: used.length,
        },
      };
    } finally {
      await stage[Symbol.asyncDispose]();
      await delay(1500); // the supervisor of the killed agent is still using the folder
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  },
};
export default bench;

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

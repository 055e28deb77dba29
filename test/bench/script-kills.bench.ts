import { runUnderKills, victimKinds } from '../helpers/scripts/script-kills.ts';
import { type Bench, numberOption } from './report.ts';

const scriptKills: Bench = {
  usage: '[--runs=500] [--kills=50] [--minutes=60]',
  title: 'Scripts whose workers, browsers and renderers are killed at random',
  async run(bench) {
    const runCount = numberOption(bench, 'runs', 500);
    const killCount = numberOption(bench, 'kills', 50);
    const durationMs = numberOption(bench, 'minutes', 60) * 60_000;
    const startedMs = performance.now();
    const figures = await runUnderKills({
      runCount,
      killCount,
      hasBrowser: true,
      durationMs,
      progress: bench.progress,
    });
    const { kills, ends, strayProcesses, leftFolders, leftAfterStop } = figures;
    return {
      columns: [
        'runs',
        'kills',
        'passed',
        'failed by',
        'stray processes',
        'left folders',
        'left after SIGTERM',
      ],
      rows: [
        [
          String(figures.runs),
          victimKinds.map((kind) => `${kills[kind]} ${kind}`).join(', '),
          String(ends.passed ?? 0),
          Object.entries(ends)
            .flatMap(([code, count]) => (code === 'passed' ? [] : [`${code} ${count}`]))
            .join(', '),
          String(strayProcesses),
          String(leftFolders),
          String(leftAfterStop),
        ],
      ],
      notes: [
        `Every second run opens a browser; two at a time; ${Math.round((performance.now() - startedMs) / 1000)} s in all. Stray processes and folders are counted 5 s after the last result.`,
      ],
      figures: { runs: figures.runs, passed: ends.passed ?? 0, strayProcesses, leftFolders, leftAfterStop },
    };
  },
};
export default scriptKills;

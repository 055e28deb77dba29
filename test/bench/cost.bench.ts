import { setTimeout as delay } from 'node:timers/promises';
import { needPrograms } from './parts/bench-lab.ts';
import { startCostPair } from './parts/cost-pair.ts';
import { startCostRing } from './parts/cost-ring.ts';
import {
  type CostStage,
  type CostTarget,
  costTargets,
  intervalSeconds,
  type Window,
} from './parts/cost-stage.ts';
import { startLineProcess } from './parts/line-process.ts';
import { type Bench, type BenchRun, bothEngines, choicesOption, numberOption, quantile } from './report.ts';

/**
 * What 1,000 targets every 10 s cost with the whole ring (agent, service, database), and with Prometheus and
 * blackbox_exporter. `--vcpu-hour` and `--gb-month` are prices, in the currency that you pay in.
 */
const bench: Bench = {
  usage:
    '[--minutes=5] [--warm-up-minutes=1] [--rounds=2] [--targets=1000] [--only=url|dns|icmp] [--engine=sqlite|postgres] [--vcpu-hour=0.04] [--gb-month=0.1]',
  title: 'Cost of monitoring 1,000 targets every 10 s: Picket, and Prometheus with blackbox_exporter',
  async run(run) {
    needPrograms('prometheus-blackbox-exporter', 'prometheus');
    const kinds = choicesOption(run, 'only', ['url', 'dns', 'icmp']);
    await using targets = startLineProcess('targets.ts');
    const ports = JSON.parse(await targets.next());
    const rows: string[][] = [];
    const figures: Record<string, string> = {};
    for (const kind of kinds) {
      const found = await compare(run, costTargets(kind, numberOption(run, 'targets', 1000), ports));
      rows.push(...rowsOf(run, kind, found));
      figures[`${kind}_cpu_us`] = median(found.ring.map(cpuUs)).toFixed(0);
      for (const process of Object.keys(found.ring[0]?.cpuMs ?? {}))
        figures[`${kind}_${process}_us`] = median(found.ring.map((one) => cpuUsOf(one, process))).toFixed(0);
      figures[`${kind}_bytes`] = median(found.ring.map(bytesPerCheck)).toFixed(0);
      figures[`${kind}_cpu_ratio`] = ratios(found, cpuUs).toFixed(2);
      figures[`${kind}_memory_ratio`] = ratios(found, ({ memoryMib }) => memoryMib).toFixed(2);
    }
    return {
      columns: ['checks', 'figure', 'Picket', 'Prometheus with blackbox_exporter', 'ratio'],
      rows,
      notes: [
        'Medians of the rounds, with their range; the two take turns, each with processes and a folder of its own, and a warm-up that does not count. Half of the URLs are HTTPS with a certificate that both accept unseen. CPU: user and system time of all processes. Memory: the largest proportional set size of all processes, looked at every 5 s.',
        'Bytes on disk, Picket: growth of the database and its log, with each run, its detail and its slots; results are sealed into columns later. Prometheus: growth of its log, which it compacts after two hours; as a block: all of it in the form in which it stays (10 to 30 values a probe).',
        'The peer measures phases and a status; it has no runs, no details, no alerts of its own (Alertmanager is not counted) and no record of probes that did not happen.',
      ],
      figures,
    };
  },
};
export default bench;

/** The targets are healthy; with a larger share of failed checks something is wrong with the machine. */
const mostFailed = 0.001;

interface Measured extends Window {
  /** The median time of the question for the p95 of one target over the window. */
  readonly answerMs: number;
  readonly memoryMib: number;
}

interface Compared {
  readonly ring: readonly Measured[];
  readonly pair: readonly Measured[];
}

async function compare(run: BenchRun, targets: readonly CostTarget[]): Promise<Compared> {
  const ring: Measured[] = [];
  const pair: Measured[] = [];
  const [engine = 'sqlite'] = choicesOption(run, 'engine', bothEngines);
  const sides = [
    { name: 'Picket', found: ring, start: () => startCostRing(targets, engine) },
    { name: 'Prometheus', found: pair, start: () => startCostPair(targets) },
  ];
  for (let round = 0; round < numberOption(run, 'rounds', 2); round += 1) {
    for (const { name, found, start } of round % 2 === 0 ? sides : sides.toReversed()) {
      await using stage = await start();
      const one = await measure(run, stage, targets.length);
      found.push(one);
      run.progress(`round ${round + 1}, ${name}: ${cpuUs(one).toFixed(0)} µs a check`);
    }
  }
  return { ring, pair };
}

async function measure(run: BenchRun, stage: CostStage, targetCount: number): Promise<Measured> {
  const minutes = numberOption(run, 'minutes', 5);
  await delay(numberOption(run, 'warm-up-minutes', 1) * 60_000);
  await stage.begin();
  let memoryMib = 0;
  for (let look = 0; look < minutes * 12; look += 1) {
    await delay(5_000);
    memoryMib = Math.max(memoryMib, await stage.memoryMib());
  }
  const window = await stage.end();
  const wanted = (targetCount * minutes * 60) / intervalSeconds;
  // At both edges a check of each target may fall into the window or out of it.
  if (window.failed > window.checks * mostFailed || Math.abs(window.checks - wanted) > targetCount)
    throw new Error(`${window.checks} of ${wanted} checks, ${window.failed} failed`);
  const answers: number[] = [];
  for (let ask = 0; ask < 20; ask += 1) {
    const startMs = performance.now();
    const p95Ms = await stage.p95Ms();
    answers.push(performance.now() - startMs);
    if (!(p95Ms > 0)) throw new Error('there is no p95');
  }
  return { ...window, memoryMib, answerMs: quantile(answers, 0.5) };
}

const cpuUs = ({ cpuMs, checks }: Window) =>
  (Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0) * 1000) / checks;

const cpuUsOf = ({ cpuMs, checks }: Window, process: string) => ((cpuMs[process] ?? 0) * 1000) / checks;
const bytesPerCheck = ({ storedBytes, checks }: Window) => storedBytes / checks;
const median = (values: readonly number[]) => quantile(values, 0.5);

type Figure = (measured: Measured) => number;

const ratios = ({ ring, pair }: Compared, figure: Figure) =>
  quantile(
    ring.map((one, round) => figure(one) / figure(pair[round] ?? one)),
    0.5,
  );

function rowsOf(run: BenchRun, kind: string, found: Compared): string[][] {
  const { ring, pair } = found;
  const spread = (of: readonly Measured[], figure: Figure, digits: number) => {
    const values = of.map(figure);
    const text = (value: number) => value.toFixed(digits);
    const range = values.length > 1 ? ` (${text(Math.min(...values))} to ${text(Math.max(...values))})` : '';
    return `${text(quantile(values, 0.5))}${range}`;
  };
  const row = (name: string, figure: Figure, digits = 0) => [
    kind,
    name,
    spread(ring, figure, digits),
    spread(pair, figure, digits),
    Number.isFinite(ratios(found, figure)) ? ratios(found, figure).toFixed(2) : '',
  ];
  const oneSided = (name: string, process: string, side: 'ring' | 'pair') => {
    const text = spread(found[side], (one) => cpuUsOf(one, process), 0);
    return [kind, name, side === 'ring' ? text : '', side === 'pair' ? text : '', ''];
  };
  const price: Figure = (one) =>
    (cpuUs(one) / 3600) * numberOption(run, 'vcpu-hour', 0.04) +
    (bytesPerCheck(one) / 1e3) * numberOption(run, 'gb-month', 0.1);
  return [
    row('CPU, µs a check', cpuUs),
    ...Object.keys(ring[0]?.cpuMs ?? {}).map((name) => oneSided(`… ${name}`, name, 'ring')),
    ...Object.keys(pair[0]?.cpuMs ?? {}).map((name) => oneSided(`… ${name}`, name, 'pair')),
    row('failed checks of healthy targets', ({ failed }) => failed),
    row('memory, MiB', ({ memoryMib }) => memoryMib),
    row('bytes on disk a check', bytesPerCheck),
    [kind, '… as a block', '', spread(pair, ({ blockBytes, checks }) => (blockBytes ?? 0) / checks, 0), ''],
    row('p95 of one target, ms to answer', ({ answerMs }) => answerMs, 1),
    row('a million checks: CPU-seconds', cpuUs),
    row('a million checks: GB on disk', (one) => bytesPerCheck(one) / 1e3, 2),
    row('a million checks: CPU, and a month on disk', price, 3),
  ];
}

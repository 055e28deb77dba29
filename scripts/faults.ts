/**
 * Runs fault campaigns: `npm run faults -- [--seed 1] [--seeds 1] [--rounds 1] [--minutes 1] [--engine
 * sqlite|postgres|both] [--checks 100] [--folder DIR] [--report FILE] [--judge DIR]`. Each seed is one campaign; with
 * `--rounds 10` a campaign takes ten seeds in sequence on the same processes. With `both`, campaigns alternate between
 * SQLite and PostgreSQL. If a campaign violates an invariant, its histories are kept, and the exit code is 1. `--agents
 * DIR` and `--services DIR` run agents or services of another checkout, which shows that neighbouring versions work
 * together. `--judge` judges the histories of an earlier campaign again. `--report` writes the tables of
 * docs/explanation/reliability.md after each campaign.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogUpdate } from 'log-update';
import { toError } from '../src/lib/errors.ts';
import { runCampaign } from '../test/system/faults/campaign.ts';
import { judge } from '../test/system/faults/checker.ts';
import { figuresOf, percentile } from '../test/system/faults/figures.ts';
import { readHistories } from '../test/system/faults/history.ts';
import { type Row, reportOf } from '../test/system/faults/report.ts';

const usage = `usage: npm run faults -- [--seed N] [--seeds N] [--rounds N] [--minutes M] [--engine sqlite|postgres|both]
  [--checks N] [--folder DIR] [--report FILE] [--agents DIR] [--services DIR]
       npm run faults -- --judge DIR`;

function given() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        seed: { type: 'string', default: '1' },
        seeds: { type: 'string', default: '1' },
        rounds: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '1' },
        engine: { type: 'string', default: 'both' },
        checks: { type: 'string', default: '100' },
        folder: { type: 'string' },
        report: { type: 'string' },
        judge: { type: 'string' },
        agents: { type: 'string' },
        services: { type: 'string' },
      },
    }).values;
  } catch (thrown) {
    console.error(`${toError(thrown).message}\n${usage}`);
    process.exit(2);
  }
}

const values = given();
if (values.help) {
  console.log(usage);
  process.exit(0);
}

if (values.judge !== undefined) {
  const histories = readHistories(values.judge);
  const violations = judge(histories);
  console.log(figuresOf(histories));
  for (const { code, text } of violations) console.log(`${code}: ${text}`);
  console.log(`FAULTS ${values.judge} violations=${violations.length}`);
  process.exit(violations.length === 0 ? 0 : 1);
}

const first = Number(values.seed);
const rounds = Number(values.rounds);
const seeds = Array.from({ length: Number(values.seeds) / rounds }, (_, index) => first + index * rounds);
const durationMs = Number(values.minutes) * 60_000;
if (!['sqlite', 'postgres', 'both'].includes(values.engine) || seeds.length === 0 || !(durationMs > 0)) {
  console.error(usage);
  process.exit(2);
}

const programIn = (checkout: string | undefined) =>
  checkout === undefined ? undefined : join(checkout, 'src', 'cli.ts');
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const liveLine = createLogUpdate(process.stderr);
const rows: Row[] = [];
let failed = 0;

for (const [index, seed] of seeds.entries()) {
  if (stopping.signal.aborted) break;
  const inTurn = index % 2 === (first + 1) % 2 ? 'sqlite' : 'postgres';
  const engine = values.engine === 'both' ? inTurn : (values.engine as 'sqlite' | 'postgres');
  const startedAtMs = performance.now();
  const progress = (text: string) => {
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
    const line = `seed ${seed} (${engine}) ${seconds.padStart(4)} s: ${text}`;
    if (process.stderr.isTTY) liveLine(line);
    else process.stderr.write(`${line}\n`);
  };
  try {
    const { folder, figures, violations } = await runCampaign({
      seed,
      rounds,
      engine,
      durationMs,
      checkCount: Number(values.checks),
      progress,
      signal: stopping.signal,
      programs: { agent: programIn(values.agents), service: programIn(values.services) },
      ...(values.folder === undefined ? {} : { folder: join(values.folder, `seed-${seed}`) }),
    });
    rows.push({
      seeds: rounds === 1 ? `${seed}` : `${seed}–${seed + rounds - 1}`,
      engine,
      figures,
      violations: violations.length,
    });
    liveLine.clear();
    const p99 = percentile(figures.takeoversMs, 0.99);
    console.log(
      `FAULTS seed=${seed} engine=${engine} slots=${figures.slots} final=${figures.ends.final ?? 0} faults=${Object.values(figures.faults).reduce((sum, count) => sum + count, 0)} takeover_p99_s=${p99 === null ? '-' : (p99 / 1000).toFixed(1)} violations=${violations.length}`,
    );
    if (values.report !== undefined) writeFileSync(values.report, reportOf(rows));
    if (violations.length > 0) {
      failed += 1;
      for (const { code, text } of violations.slice(0, 20)) console.log(`  ${code}: ${text}`);
      console.log(
        `  repeat: npm run faults -- --seed ${seed} --seeds ${rounds} --rounds ${rounds} --minutes ${values.minutes} --checks ${values.checks} --engine ${engine}`,
      );
      console.log(`  histories: ${folder}`);
    } else if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  } catch (thrown) {
    if (stopping.signal.aborted) break;
    failed += 1;
    console.log(`seed ${seed} (${engine}) broke down:`, thrown);
  }
}
console.log(`${rows.length - failed} campaigns held, ${failed} did not`);
process.exit(failed > 0 || stopping.signal.aborted ? 1 : 0);

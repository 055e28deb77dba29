/**
 * Runs one benchmark: `npm run bench -- NAME [OPTIONS…]`. Without a name it lists them, with `--help` a benchmark's options.
 * Prints the machine and the benchmark's table, and ends with one line `BENCH name key=value …`. `--against=FOLDER`
 * compares these figures with those of another checkout. docs/explanation/benchmarks.md keeps the newest figures. A
 * benchmark is a file of test/bench/ whose default export measures and returns a `BenchReport`.
 */
import { readdirSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import Table from 'cli-table3';
import { endChildrenOnSignal } from '../test/bench/parts/end-children.ts';
import { type Bench, type BenchReport, joinedOptions, unknownOptions } from '../test/bench/report.ts';
import compile from '../test/helpers/compiled-program.ts';
import { againstOption, againstUsage, compareWith } from './bench/against.ts';

const folder = join(import.meta.dirname, '..', 'test', 'bench');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length));

const [name, ...given] = process.argv.slice(2);
const options = joinedOptions(given);
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- NAME [OPTIONS...]\nbenchmarks: ${names.join(', ')}`);
  process.exit(2);
}

const { default: bench } = (await import(join(folder, `${name}.bench.ts`))) as { default: Bench };
const usage = `usage: npm run bench -- ${name} ${bench.usage} ${againstUsage}`;
if (options.includes('--help')) {
  console.log(`${bench.title}\n${usage}`);
  process.exit(0);
}
const unknown = unknownOptions(usage, options);
if (unknown.length > 0) {
  console.error(`${name} does not take ${unknown.join(', ')}\n${usage}`);
  process.exit(2);
}

const against = againstOption(options);
// Measure the compiled program that ships.
if (against === undefined) await compile();
console.log(styleText('bold', bench.title));
console.log(machine());
const report = await measured();

const table = new Table({ head: [...report.columns], style: { head: [], border: [] } });
for (const row of report.rows) table.push([...row]);
console.log(table.toString());
for (const note of report.notes) console.log(note);
const figures = Object.entries(report.figures).map(([key, value]) => `${key}=${value}`);
console.log(`BENCH ${name} ${figures.join(' ')}`);

async function measured(): Promise<BenchReport> {
  using _children = endChildrenOnSignal();
  if (against !== undefined) return await compareWith(against, name as string, options);
  return await bench.run({
    options,
    progress: (text) => process.stderr.write(`  ${text}\n`),
  });
}

function machine(): string {
  const cpu = cpus();
  return `${cpu.length} × ${cpu[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()} ${arch()}, Node ${process.versions.node}`;
}

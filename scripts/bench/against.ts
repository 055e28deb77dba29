import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type BenchReport, numberOption, quantile, textOption } from '../../test/bench/report.ts';

/** Options of a comparison, which its runs do not get. */
const own = ['--against', '--times'];
export const againstUsage = '[--against=FOLDER [--times=3]]';

/** The folder of `--against=FOLDER`; undefined without it. */
export function againstOption(options: readonly string[]): string | undefined {
  const folder = textOption({ options }, 'against', '');
  return folder === '' ? undefined : folder;
}

/**
 * Runs a benchmark in another checkout and in this one, in alternating order, and compares the figures of their last
 * lines: `--against=FOLDER [--times=3]`.
 *
 * @param folder a checkout that has a benchmark with this name and its options.
 */
export async function compareWith(
  folder: string,
  name: string,
  options: readonly string[],
): Promise<BenchReport> {
  const passed = options.filter((option) => !own.some((one) => option.startsWith(`${one}=`)));
  const sides = [
    { root: folder, found: new Map<string, number[]>() },
    { root: join(import.meta.dirname, '../..'), found: new Map<string, number[]>() },
  ] as const;
  const times = numberOption({ options }, 'times', 3);
  for (let round = 0; round < times; round += 1) {
    for (const { root, found } of round % 2 === 0 ? sides : sides.toReversed()) {
      for (const [figure, value] of await figuresOf(root, name, passed)) {
        const values = found.get(figure) ?? [];
        values.push(value);
        found.set(figure, values);
      }
    }
  }
  const [before, after] = sides;
  const rows: string[][] = [];
  const figures: Record<string, string> = {};
  for (const [figure, values] of after.found) {
    const earlier = before.found.get(figure) ?? [];
    const change = quantile(values, 0.5) / quantile(earlier, 0.5);
    rows.push([figure, spread(earlier), spread(values), Number.isFinite(change) ? change.toFixed(2) : '']);
    if (Number.isFinite(change)) figures[figure] = change.toFixed(2);
  }
  return {
    columns: ['figure', 'there', 'here', 'here / there'],
    rows,
    notes: [`Medians of ${times} runs each, in alternating order, with their range.`],
    figures,
  };
}

function spread(values: readonly number[]): string {
  if (values.length === 0) return '';
  const range = values.length > 1 ? ` (${Math.min(...values)} to ${Math.max(...values)})` : '';
  return `${quantile(values, 0.5)}${range}`;
}

/** Runs the benchmark in a checkout; returns the figures of its last line that are numbers. */
async function figuresOf(
  root: string,
  name: string,
  options: readonly string[],
): Promise<[figure: string, value: number][]> {
  const command = [join(root, 'scripts', 'setup.mjs'), join('scripts', 'bench.ts'), name, ...options];
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk;
    process.stdout.write(chunk);
  }
  const line = output.split('\n').findLast((one) => one.startsWith(`BENCH ${name} `));
  if (line === undefined) throw new Error(`${root}: the benchmark ${name} printed no figures`);
  return line
    .split(' ')
    .slice(2)
    .map((pair): [string, number] => {
      const [figure = '', value = ''] = pair.split('=');
      return [figure, value === '' ? Number.NaN : Number(value)];
    })
    .filter(([, value]) => Number.isFinite(value));
}

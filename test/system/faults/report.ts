import { type Figures, percentile } from './figures.ts';

/** A campaign in the report. */
export interface Row {
  readonly seeds: string;
  readonly engine: string;
  readonly figures: Figures;
  readonly violations: number;
}

/** The tables of docs/explanation/reliability.md. */
export function reportOf(rows: readonly Row[]): string {
  return `${campaigns(rows)}\n\n${sums(rows)}\n`;
}

function campaigns(rows: readonly Row[]): string {
  const lines = rows.map(({ seeds, engine, figures, violations }) => {
    const { ends } = figures;
    const faults = Object.values(figures.faults).reduce((sum, count) => sum + count, 0);
    return [
      seeds,
      engine,
      figures.slots,
      ends.final ?? 0,
      sum(ends, 'missed'),
      sum(ends, 'cancelled'),
      figures.attempts,
      figures.duplicates,
      figures.stale,
      faults,
      violations,
    ];
  });
  return table(
    [
      'seeds',
      'store',
      'slots',
      'FINAL',
      'missed',
      'cancelled',
      'retries',
      'repeated',
      'fenced',
      'faults',
      'violations',
    ],
    lines,
  );
}

function sums(rows: readonly Row[]): string {
  const faults = added(rows.map(({ figures }) => figures.faults));
  const ends = added(rows.map(({ figures }) => figures.ends));
  const takeoversMs = rows.flatMap(({ figures }) => figures.takeoversMs);
  const disturbedMs = rows.flatMap(({ figures }) => figures.disturbedTakeoversMs);
  const slots = rows.reduce((total, { figures }) => total + figures.slots, 0);
  return [
    `${slots} slots. Runs of killed agents that went to their next holder: ${spread(takeoversMs)}; with a fault of service or database in between: ${spread(disturbedMs)}.`,
    '',
    table(
      ['fault', 'times'],
      Object.entries(faults).sort(([left], [right]) => left.localeCompare(right)),
    ),
    '',
    table(
      ['slots that ended as', 'number'],
      Object.entries(ends).sort(([left], [right]) => left.localeCompare(right)),
    ),
  ].join('\n');
}

function spread(unsorted: readonly number[]): string {
  if (unsorted.length === 0) return 'none';
  const sorted = unsorted.toSorted((left, right) => left - right);
  const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
  return `${sorted.length}, after ${seconds(p50)} s (p50), ${seconds(p99)} s (p99), ${seconds(sorted.at(-1) ?? null)} s (longest)`;
}

function table(head: readonly string[], lines: readonly (readonly (string | number)[])[]): string {
  return [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function sum(counts: Readonly<Record<string, number>>, start: string): number {
  return Object.entries(counts)
    .filter(([name]) => name.startsWith(start))
    .reduce((total, [, count]) => total + count, 0);
}

function added(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, count] of Object.entries(part)) total[name] = (total[name] ?? 0) + count;
  }
  return total;
}

function seconds(ms: number | null): string {
  return ms === null ? '–' : (ms / 1000).toFixed(1);
}

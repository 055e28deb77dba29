import type { CountedStep } from './write-counter.ts';

/** The steps of a batch of runs as a table. */
export function markdownTable(steps: readonly CountedStep[], runs: number): string {
  const lines = steps.flatMap(({ name, statements }) => {
    const reads = statements.find(({ writes }) => writes === '');
    const written = statements.filter(({ writes }) => writes !== '');
    return [
      ...written.map(({ writes, times, rows, indexes }) =>
        row([name, writes, String(times), (rows / runs).toFixed(2), indexes.map(shortName).join(', ')]),
      ),
      row([name, 'reads', String(reads?.times ?? 0), ((reads?.rows ?? 0) / runs).toFixed(2), '']),
    ];
  });
  return [
    row(['Step', 'Statement', 'Times a batch', 'Rows a run', 'Indexes that it may change']),
    row(['---', '---', '---', '---', '---']),
    ...lines,
  ].join('\n');
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** `sqlite_autoindex_runs_1` is the primary key, the next ones are unique constraints. */
function shortName(name: string): string {
  const [, table, number] = /^sqlite_autoindex_(\w+)_(\d+)$/.exec(name) ?? [];
  return table === undefined ? name : `${table}, ${number === '1' ? 'primary key' : 'unique'}`;
}

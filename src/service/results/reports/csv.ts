import type { CheckReport } from '@picket/protocol/results/reporting.ts';
import type { Coverage } from '@picket/protocol/runs/coverage.ts';
import { pausedReason, type SlotReason, slotReasons } from '@picket/protocol/runs/slot.ts';
import type { Window } from './window.ts';

type Cell = string | number | boolean | null;

/** Reasons that have a column in every report, so that reports can be concatenated. */
const cancelReasons: readonly string[] = [
  'deactivated',
  'deleted',
  'location-removed',
  'location-deleted',
] satisfies SlotReason[];
const missReasons = Object.keys(slotReasons).filter(
  (reason) => reason !== pausedReason && !cancelReasons.includes(reason),
);

type Column = readonly [name: string, cell: (report: CheckReport) => Cell];

const columnsOf = (kind: 'missed' | 'cancelled', reasons: readonly string[]) =>
  reasons.map(
    (reason): Column => [
      `${kind}_${reason.replaceAll('-', '_')}`,
      ({ aggregate }) => aggregate.coverage[kind][reason] ?? 0,
    ],
  );

const columns: readonly Column[] = [
  ['name', ({ name }) => name],
  ['check_id', ({ checkId }) => checkId],
  ['check_type', ({ checkType }) => checkType],
  ['deactivated', ({ deactivated }) => deactivated],
  ['tags', ({ tags }) => tags.join(' ')],
  ['success_percent', ({ aggregate }) => aggregate.successRatio],
  ['coverage_percent', ({ aggregate }) => aggregate.coverage.percent],
  ['slots_due', ({ aggregate }) => aggregate.coverage.due],
  ['evaluated', ({ aggregate }) => aggregate.coverage.evaluated],
  ['errors', ({ aggregate }) => aggregate.coverage.errors],
  ['maintenance', ({ aggregate }) => aggregate.coverage.maintenance],
  ['open', ({ aggregate }) => aggregate.coverage.open],
  ...columnsOf('missed', missReasons),
  ...columnsOf('cancelled', cancelReasons),
  ['other_reasons', ({ aggregate }) => otherReasons(aggregate.coverage)],
  ['average_ms', ({ aggregate }) => aggregate.avg],
  ['p95_ms', ({ aggregate }) => aggregate.p95],
  ['p99_ms', ({ aggregate }) => aggregate.p99],
];

/** Slots that ended for a reason without a column of its own. */
function otherReasons({ missed, cancelled }: Coverage): number {
  const others = (counts: Readonly<Record<string, number>>, known: readonly string[]) =>
    Object.entries(counts).reduce((sum, [reason, count]) => (known.includes(reason) ? sum : sum + count), 0);
  return others(missed, missReasons) + others(cancelled, cancelReasons);
}

/**
 * A report as a CSV table. The columns from `evaluated` to the last reason add up to `slots_due`. Cells of unknown
 * numbers are empty.
 */
export function reportAsCsv(reports: readonly CheckReport[], { from, to }: Window): string {
  const window = [from, to].map((at) => new Date(at).toISOString());
  const lines = [
    ['from', 'to', ...columns.map(([name]) => name)],
    ...reports.map((report) => [...window, ...columns.map(([, cell]) => cell(report))]),
  ];
  return lines.map((cells) => `${cells.map(written).join(',')}\r\n`).join('');
}

function written(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  // Spreadsheet programs interpret such a text as a formula and run it.
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

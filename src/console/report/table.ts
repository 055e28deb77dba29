import { type Share, shareOfPercent } from '@picket/lib/figures/share.ts';
import type { CheckReport } from '@picket/protocol/results/reporting.ts';
import { addedCoverage, type Coverage, coverageText, notMeasured } from '@picket/protocol/runs/coverage.ts';
import { countText, duration, percent, shortened } from '../elements/format.ts';
import { type Column, table } from '../elements/table.ts';
import { type Content, type Html, html, path } from '../html.ts';
import { countLink, reasonOf, type SlotSelection } from '../slots/page.ts';

/** The reported period, as ISO instants. */
export interface ReportWindow {
  readonly from: string;
  readonly to: string;
}

interface Row {
  readonly name: Content;
  /** Absent for the total. */
  readonly checkId?: string;
  readonly succeeded: Share | null;
  readonly p95Ms: number | null;
  readonly coverage: Coverage;
}

/**
 * Shows the figures of each check in a report, and their total in the last row. In every row, the columns from the
 * evaluated slots on add up to the due slots.
 */
export function reportTable(reports: readonly CheckReport[], window: ReportWindow): Html {
  const rows = reports.map(
    ({ name, checkId, deactivated, aggregate }): Row => ({
      name: html`<a href="${path`/checks/${checkId}`}">${shortened(name, 120)}</a>${deactivated ? html` <span class="small soft">paused</span>` : ''}`,
      checkId,
      succeeded: shareOfPercent(aggregate.successRatio),
      p95Ms: aggregate.p95,
      coverage: aggregate.coverage,
    }),
  );
  const total = addedCoverage(rows.map(({ coverage }) => coverage));
  const whole: Row = { name: html`<b>Total</b>`, succeeded: null, p95Ms: null, coverage: total };
  return table({
    caption: 'Due slots of each check and their outcomes',
    rows: rows.length > 1 ? [...rows, whole] : rows,
    empty: 'No checks match.',
    columns: [
      { title: 'Check', cell: ({ name }) => name },
      {
        title: 'Succeeded',
        isNumber: true,
        cell: ({ succeeded, coverage }) => {
          const covered = coverageText(coverage);
          if (succeeded === null || covered === notMeasured) return succeeded === null ? '–' : notMeasured;
          return html`${percent(succeeded)}${covered === null ? '' : html`<br><span class="small soft">${covered}</span>`}`;
        },
      },
      { title: 'p95', isNumber: true, cell: ({ p95Ms }) => (p95Ms === null ? '–' : duration(p95Ms)) },
      ...slotColumns(total, window),
    ],
  });
}

/**
 * Returns the columns of slots; omits reasons without missed slots. Counts link to their records, where the records can
 * be selected by state and reason.
 */
function slotColumns(total: Coverage, window: ReportWindow): Column<Row>[] {
  const counts = (
    title: string,
    read: (coverage: Coverage) => number,
    records?: SlotSelection,
  ): Column<Row> => ({
    title,
    isNumber: true,
    cell: ({ coverage, checkId }) =>
      checkId === undefined || records === undefined
        ? countText(read(coverage))
        : countLink(read(coverage), { checkId, ...window }, records),
  });
  const ofReasons = (kind: 'missed' | 'cancelled') =>
    Object.keys(total[kind])
      .sort()
      .map((name) => {
        const reason = reasonOf(name);
        const state = kind === 'missed' ? ('MISSED' as const) : ('CANCELLED' as const);
        const records: SlotSelection | undefined = reason && { state, reason };
        return counts(`${kind}: ${name}`, (coverage) => coverage[kind][name] ?? 0, records);
      });
  return [
    counts('Due', ({ due }) => due, {}),
    counts('Evaluated', ({ evaluated }) => evaluated),
    ...ofReasons('missed'),
    ...(total.errors > 0 ? [counts('Monitoring errors', ({ errors }) => errors)] : []),
    ...(total.maintenance > 0 ? [counts('Maintenance', ({ maintenance }) => maintenance)] : []),
    ...ofReasons('cancelled'),
    ...(total.open > 0 ? [counts('Open', ({ open }) => open)] : []),
  ];
}

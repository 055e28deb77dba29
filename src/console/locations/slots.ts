import { shareOf } from '@picket/lib/figures/share.ts';
import type { SlotCounts } from '@picket/protocol/runs/slot.ts';
import { reasonWords } from '../elements/charts/slot-bar.ts';
import { countText, percent } from '../elements/format.ts';
import { facts, table } from '../elements/table.ts';
import { type Html, html } from '../html.ts';

interface ReasonRow {
  readonly reason: string;
  readonly kind: 'missed' | 'cancelled';
  readonly day: number;
  readonly week: number;
}

/** Shows the share of due runs that were executed, whether or not they succeeded, and the reasons for the rest. */
export function slotsSection(day: SlotCounts, week: SlotCounts): Html {
  const rows = [
    ...rowsOf('missed', day.missed, week.missed),
    ...rowsOf('cancelled', day.cancelled, week.cancelled),
  ];
  return html`<section><h2>Scheduled runs</h2>${facts([
    ['Last 24 hours', words(day)],
    ['Last 7 days', words(week)],
  ])}
<div class="after">${table({
    caption: 'Missed runs, by reason',
    rows,
    empty:
      week.due === 0
        ? 'No runs were due here in the last 7 days.'
        : 'All runs that were due in the last 7 days ran or are in progress.',
    columns: [
      {
        title: 'Reason',
        cell: ({ reason }) =>
          html`<code>${reason}</code><br><span class="small">${reasonWords(reason)}</span>`,
      },
      { title: 'Outcome', cell: ({ kind }) => kind },
      { title: '24 hours', isNumber: true, cell: ({ day: count }) => countText(count) },
      { title: '7 days', isNumber: true, cell: ({ week: count }) => countText(count) },
    ],
  })}</div></section>`;
}

function words({ due, final, onTheirWay }: SlotCounts): string {
  if (due === 0) return 'none due';
  const ended = due - onTheirWay;
  const part = shareOf(final, ended);
  return `${countText(final)} of ${countText(ended)} ran${part === null ? '' : ` (${percent(part)})`}`;
}

function rowsOf(
  kind: ReasonRow['kind'],
  day: Readonly<Record<string, number>>,
  week: Readonly<Record<string, number>>,
): ReasonRow[] {
  const reasons = [...new Set([...Object.keys(week), ...Object.keys(day)])];
  const rows = reasons.map((reason) => ({ reason, kind, day: day[reason] ?? 0, week: week[reason] ?? 0 }));
  return rows.filter((row) => row.week > 0 || row.day > 0).toSorted((left, right) => right.week - left.week);
}
